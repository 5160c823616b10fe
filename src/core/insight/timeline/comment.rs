//! Grips in the files of memories: an HTML comment, which Markdown viewers hide and Claude Code
//! leaves out of what it loads.
//!
//! ```text
//! <!-- grip:1762264920000:01K9… codex:ID#L12 9f3c…
//! The words that it is about.
//! -->
//! ```
//!
//! The words in the comment are those of the log, so that they stay when the memory is rewritten
//! and the log is gone.

use std::ops::Range;

use super::grip::Grip;
use crate::core::log::Agent;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::text::grip_comment::{CLOSE, OPEN, grip_comments};

/// Returns a grip as a comment of its own lines.
pub fn comment(grip: &Grip) -> String {
    // The words must not end the comment.
    let words = grip.excerpt.replace("-->", "-- >").replace("--!>", "-- !>");
    format!(
        "<!-- {} {} {}\n{words}\n{CLOSE}\n",
        grip.id,
        grip.citation(),
        grip.hash
    )
}

/// Returns the grips of a memory's text, each with the bytes of its comment.
pub fn grips_in(text: &str) -> Vec<(Grip, Range<usize>)> {
    let comments = grip_comments(text).into_iter();
    let grips = comments.filter_map(|range| {
        let inside = text[range.clone()].trim().strip_prefix(OPEN)?;
        let inside = inside.split(CLOSE).next()?;
        let (fields, words) = inside.split_once('\n').unwrap_or((inside, ""));
        let words: Vec<&str> = words.split_whitespace().collect();
        Some((parse(fields, &words.join(" "))?, range))
    });
    grips.collect()
}

/// Parses what stands behind `grip:` in the first line.
fn parse(fields: &str, words: &str) -> Option<Grip> {
    let mut fields = fields.split_whitespace();
    let id = fields.next()?;
    let Ok(citation) = fields.next()?.parse::<Citation>();
    let hash = fields.next()?;
    let (time, ulid) = id.split_once(':')?;
    ulid::Ulid::from_string(ulid).ok()?;
    let CitedPart::Lines(lines) = citation.part else {
        return None;
    };
    let line = |line: &usize| u64::try_from(*line).ok();
    Some(Grip {
        id: format!("grip:{id}"),
        agent: Agent::named(&citation.store?)?,
        log: citation.path,
        session: None,
        first_line: line(lines.start())?,
        last_line: line(lines.end())?,
        text_line: 1,
        excerpt: words.to_owned(),
        event_id_start: String::new(),
        event_id_end: String::new(),
        timestamp: time.parse().ok()?,
        hash: hash.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::insight::timeline::event::Event;
    use crate::core::log::Role;
    use crate::core::text::grip_comment::without_grips;

    #[test]
    fn a_grip_is_read_back_from_its_comment() {
        let event = Event::test(7, Role::User, "Keep the --lock <!-- and --> close it.");
        let grip = Grip::new(Agent::Codex, "abc", &event, 1);
        let other = Grip::new(Agent::Codex, "abc", &event, 2);
        let text = format!(
            "---\nname: a\n---\n\n> Keep it.\n\n{}\nmore\n{}",
            comment(&grip),
            comment(&other)
        );
        let found = grips_in(&text);
        assert_eq!(found.len(), 2);
        let (read, range) = &found[0];
        assert_eq!(&text[range.clone()], comment(&grip));
        assert_eq!(
            (&read.id, &read.log, read.first_line, &read.hash),
            (&grip.id, &grip.log, 7, &grip.hash)
        );
        assert_eq!(read.timestamp, grip.timestamp);
        assert_eq!(read.excerpt, "Keep the --lock <!-- and -- > close it.");
        assert_eq!(
            without_grips(&text),
            "---\nname: a\n---\n\n> Keep it.\n\n\nmore\n"
        );
    }

    #[test]
    fn what_is_no_grip_is_left_alone() {
        for text in [
            "",
            "<!-- META:\n-->\n",
            "<!-- grip: -->",
            "<!-- grip:1:2 codex:a#L1 h\nwords",
            "<!-- grip:x:01HM5ZQ8Z0ABCDEFGHJKMNPQRS codex:a h -->",
            "text <!-- grip:1:01HM5ZQ8Z0ABCDEFGHJKMNPQRS codex:a#L1 h -->",
        ] {
            assert_eq!(grips_in(text), [], "{text}");
            assert_eq!(without_grips(text), text);
        }
    }
}
