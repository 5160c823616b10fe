//! Formats hits, lessons and messages as text, in the form that `recall_memory` documents.

use crate::core::log::{Message, Role};
use crate::core::memory::layout::session::MESSAGES;
use crate::core::search::lesson::Lesson;
use crate::core::search::{Hit, HitSource};
use crate::core::text::display::{safe, safe_line, visible_line};

/// Formats hits; empty lines occur only between them.
pub fn format_hits(query: &str, hits: &[Hit]) -> String {
    if hits.is_empty() {
        return format!("No results found for: \"{query}\"");
    }
    let mut out = format_hits_head(query, hits.len());
    for (at, hit) in hits.iter().enumerate() {
        // The log of a session store needs no name; any other is one of many.
        let is_session = hit.source == HitSource::Messages && hit.citation.path == MESSAGES;
        let place = if is_session {
            format!("Line: {}", hit.line)
        } else {
            format!("File: {}:{}", visible_line(&hit.path), hit.line)
        };
        out.push_str(&format!(
            "\n\n[{}] Source: {}\n    {place}\n    Content: {}\n    Citation: {}",
            at + 1,
            hit.source.name(),
            hit.text,
            visible_line(&hit.citation.to_string())
        ));
        if hit.copies > 0 {
            out.push_str(&format!("\n    Copies: {} in other sessions", hit.copies));
        }
    }
    out
}

/// The line before the first hit, without its line break.
pub fn format_hits_head(query: &str, count: usize) -> String {
    format!("Found {count} result(s) for: \"{query}\"")
}

/// Formats lessons in full, each with its type, its path and why it matches.
pub fn format_lessons(lessons: &[Lesson]) -> String {
    let formatted = lessons.iter().enumerate().map(|(at, lesson)| {
        format!(
            "[{}] Type: {}\n    Path: {}\n    Why: {}\n    Citation: {}\n\n{}",
            at + 1,
            lesson.category,
            lesson.citation.path,
            lesson.why,
            lesson.citation,
            lesson.text
        )
    });
    formatted.collect::<Vec<_>>().join("\n\n")
}

/// Formats messages of a log, each below its line and its role; control characters, hidden
/// characters and secrets are replaced.
pub fn format_messages(messages: &[Message]) -> String {
    let formatted = messages.iter().map(|message| {
        let tool = message.tool.as_deref().map(safe_line);
        let who = match (message.role, tool.as_deref()) {
            (Role::User, _) => "user",
            (Role::System, _) => "system",
            (_, Some(tool)) => tool,
            (Role::Assistant, None) => "assistant",
            (Role::Tool, None) => "tool",
        };
        format!("[L{} {who}]\n{}", message.line, safe(&message.text))
    });
    formatted.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(source: HitSource, citation: &str, text: &str) -> Hit {
        let Ok(citation) = citation.parse::<crate::core::memory::citation::Citation>();
        Hit {
            source,
            store: "s".to_owned(),
            path: citation.path.clone(),
            line: 10,
            within: None,
            title: String::new(),
            text: text.to_owned(),
            citation,
            score: 1.0,
            category: None,
            role: None,
            agent: None,
            session: None,
            time: None,
            log: None,
            copies: 0,
            project: None,
        }
    }

    #[test]
    fn results_are_told_in_the_words_agents_know() {
        let found = [
            hit(
                HitSource::Detail,
                "detail/auth-design.md#L10",
                "Decided to use JWT tokens",
            ),
            hit(
                HitSource::Messages,
                "messages.jsonl#L10",
                "User asked about auth",
            ),
        ];
        assert_eq!(
            format_hits("auth", &found),
            "Found 2 result(s) for: \"auth\"\n\n[1] Source: detail\n    File: detail/auth-design.md:10\n    Content: Decided to use JWT tokens\n    Citation: detail/auth-design.md#L10\n\n[2] Source: messages\n    Line: 10\n    Content: User asked about auth\n    Citation: messages.jsonl#L10"
        );
        assert_eq!(format_hits("x", &[]), "No results found for: \"x\"");
        let odd = format_hits("x", &[hit(HitSource::Detail, "a\n[2] b.md#L10", "x")]);
        assert_eq!(odd.lines().count(), 6, "{odd}");
    }
}
