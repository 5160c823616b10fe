//! How recalled lines are told: the words that agents know from `recall_memory`.

use serde::Serialize;

/// Where a recalled line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A curated memory.
    Detail,
    /// A raw conversation.
    Messages,
}

/// A recalled line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recalled {
    /// Where it comes from.
    pub source: Source,
    /// The memory's file; a message has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// The line, from 1.
    pub line_number: u64,
    /// What the line says.
    pub text: String,
    /// How to open it.
    pub citation: String,
}

/// The recalled lines as an agent gets them.
pub fn told(query: &str, results: &[Recalled]) -> String {
    if results.is_empty() {
        return format!("No results found for: \"{query}\"");
    }
    let mut out = format!("Found {} result(s) for: \"{query}\"", results.len());
    for (number, result) in results.iter().enumerate() {
        let place = match (&result.file_path, result.source) {
            (Some(file), _) => format!("Source: detail\n    File: {file}:{}", result.line_number),
            (None, Source::Detail) => format!("Source: detail\n    Line: {}", result.line_number),
            (None, Source::Messages) => {
                format!("Source: messages\n    Line: {}", result.line_number)
            }
        };
        out.push_str(&format!(
            "\n\n[{}] {place}\n    Content: {}\n    Citation: {}",
            number + 1,
            snippet(&result.text),
            result.citation
        ));
    }
    out
}

/// One line of at most 300 characters; `...` says that there is more.
pub fn snippet(text: &str) -> String {
    const LONGEST: usize = 300;
    let line = text.trim().replace("\r\n", " ").replace(['\n', '\r'], " ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_told_in_the_words_agents_know() {
        let results = [
            Recalled {
                source: Source::Detail,
                file_path: Some("detail/auth-design.md".to_owned()),
                line_number: 10,
                text: "Decided to use JWT tokens".to_owned(),
                citation: "detail/auth-design.md#L10".to_owned(),
            },
            Recalled {
                source: Source::Messages,
                file_path: None,
                line_number: 45,
                text: "User asked\nabout auth".to_owned(),
                citation: "messages.jsonl#L45".to_owned(),
            },
        ];
        assert_eq!(
            told("auth", &results),
            "Found 2 result(s) for: \"auth\"\n\n[1] Source: detail\n    File: detail/auth-design.md:10\n    Content: Decided to use JWT tokens\n    Citation: detail/auth-design.md#L10\n\n[2] Source: messages\n    Line: 45\n    Content: User asked about auth\n    Citation: messages.jsonl#L45"
        );
        assert_eq!(told("x", &[]), "No results found for: \"x\"");
    }

    #[test]
    fn a_snippet_is_cut_between_characters() {
        assert_eq!(snippet(&"é".repeat(300)), "é".repeat(300));
        assert_eq!(snippet(&"é".repeat(301)), format!("{}...", "é".repeat(300)));
    }
}
