//! Detects the end of a JSON document while it is being read.

/// The state of scanning a document. Only brackets and strings are tracked, so each byte of a long
/// document is read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DocumentScanner {
    depth: usize,
    state: ScanState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ScanState {
    /// Before the first bracket.
    #[default]
    Before,
    /// Outside any string.
    Plain,
    /// In a string.
    Text,
    /// In a string, after a backslash.
    Escaped,
    /// After the last bracket.
    Whole,
}

impl DocumentScanner {
    /// Scans the next part of the document.
    pub fn read(&mut self, part: &[u8]) {
        for byte in part {
            self.state = match (self.state, byte) {
                (ScanState::Text, b'"') => ScanState::Plain,
                (ScanState::Text, b'\\') => ScanState::Escaped,
                (ScanState::Text | ScanState::Escaped, _) => ScanState::Text,
                (ScanState::Plain, b'"') => ScanState::Text,
                (ScanState::Before | ScanState::Plain, b'{' | b'[') => {
                    self.depth += 1;
                    ScanState::Plain
                }
                (ScanState::Plain, b'}' | b']') => {
                    self.depth = self.depth.saturating_sub(1);
                    match self.depth {
                        0 => ScanState::Whole,
                        _ => ScanState::Plain,
                    }
                }
                (state, _) => state,
            };
        }
    }

    /// Whether the last bracket was closed.
    pub fn is_whole(&self) -> bool {
        self.state == ScanState::Whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_whole_at_its_last_bracket_and_not_before() {
        for text in [
            "{}",
            " {\n \"a\": [1, {\"b\": \"}\\\"]\\\\\"}]}",
            "{\"a\":\"{{{\"}",
            "[{}]",
        ] {
            let end = text.len() - 1;
            let mut document = DocumentScanner::default();
            for byte in &text.as_bytes()[..end] {
                document.read(&[*byte]);
                assert!(!document.is_whole(), "{text}");
            }
            document.read(&text.as_bytes()[end..]);
            assert!(document.is_whole(), "{text}");
            document.read(b" \n");
            assert!(document.is_whole(), "{text}");
        }
        for text in ["", "nonsense", "3", "{", "{\"a\":\"}"] {
            let mut document = DocumentScanner::default();
            document.read(text.as_bytes());
            assert!(!document.is_whole(), "{text}");
        }
    }
}
