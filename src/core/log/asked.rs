//! Prompts that an agent wraps in a tag of its own, beside text that its program added.

use super::sink::Sink;
use super::{Origin, Role};

/// Adds the text inside the first of `tags` that `text` has as the user's or, to a subagent, its
/// starter's, and what is around it
/// as the program's. Returns whether there was such a tag.
pub(super) fn take_asked(text: &str, tags: &[&str], sink: &mut Sink<'_>) -> bool {
    let Some([before, asked, after]) = tags.iter().find_map(|tag| around(text, tag)) else {
        return false;
    };
    sink.say(Role::System, Origin::Injected, before.trim().to_owned());
    sink.add(sink.sender(), asked.trim().to_owned());
    sink.say(Role::System, Origin::Injected, after.trim().to_owned());
    true
}

/// Splits `text` at the first `<tag …>` and the last `</tag>`.
pub(super) fn around<'a>(text: &'a str, tag: &str) -> Option<[&'a str; 3]> {
    let start = format!("<{tag}");
    let (at, rest) = text.match_indices(&start).find_map(|(at, _)| {
        let rest = &text[at + start.len()..];
        rest.starts_with(['>', ' ']).then_some((at, rest))
    })?;
    let (_, inside) = rest.split_once('>')?;
    let (asked, after) = inside.rsplit_once(&format!("</{tag}>"))?;
    Some([&text[..at], asked, after])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_may_have_attributes_and_must_be_closed() {
        assert_eq!(
            around("a <q mode=\"x\">b</q> c", "q"),
            Some(["a ", "b", " c"])
        );
        assert_eq!(
            around("<q>b <q> c</q></q>", "q"),
            Some(["", "b <q> c</q>", ""])
        );
        assert_eq!(around("<query>b</query>", "q"), None);
        assert_eq!(around("<q>b", "q"), None);
        assert_eq!(around("<q", "q"), None);
    }
}
