//! Headers of rules in YAML: keys with a text or a list.

use std::collections::HashSet;

/// The texts of a key: one, or those of a list. Numbers, `true` and the like are no texts, and mean
/// nothing.
pub(super) fn texts(yaml: &str, key: &str) -> Vec<String> {
    let mut lines = yaml.lines();
    let Some(value) = lines.find_map(|line| value_of(line, key)) else {
        return Vec::new();
    };
    let value = without_comment(value);
    let text = |value: &str| -> Option<String> {
        let plain = unquoted(value);
        let is_text = !matches!(value, "" | "null" | "~" | "true" | "false");
        (is_text && value.parse::<f64>().is_err() && !plain.is_empty()).then(|| plain.to_owned())
    };
    let list = value
        .strip_prefix('[')
        .and_then(|list| list.strip_suffix(']'));
    if value.is_empty() {
        let items = lines.map_while(|line| line.trim_start().strip_prefix("- "));
        items
            .filter_map(|item| text(without_comment(item)))
            .collect()
    } else if let Some(list) = list {
        let items = list.split(',');
        items.filter_map(|item| text(item.trim())).collect()
    } else {
        text(value).into_iter().collect()
    }
}

/// The patterns of paths in texts. One alone may have several with commas; a comma between braces is
/// a part of its pattern.
pub(super) fn paths(texts: Vec<String>) -> Vec<String> {
    let [text] = texts.as_slice() else {
        return texts;
    };
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Whether there is a line for a key.
pub(super) fn has(yaml: &str, key: &str) -> bool {
    yaml.lines().any(|line| value_of(line, key).is_some())
}

/// What the line of a key says, read as a line and not as YAML.
pub(super) fn line(yaml: &str, key: &str) -> Option<String> {
    let value = yaml.lines().find_map(|line| value_of(line, key))?;
    let said = unquoted(without_comment(value));
    (!said.is_empty()).then(|| said.to_owned())
}

/// Whether a parser would take a header for keys with values. Most headers that are none have a bare
/// `*`, lines without a key, or a key twice.
pub(super) fn is_valid(yaml: &str) -> bool {
    let mut keys = HashSet::new();
    let (mut is_open, mut is_list) = (false, false);
    yaml.lines().all(|line| {
        let said = without_comment(line.trim());
        let item = match said {
            "-" => Some(""),
            said => said.strip_prefix("- "),
        };
        if said.is_empty() {
            return true;
        }
        if let Some(item) = item {
            let is_allowed = is_open || is_list;
            (is_open, is_list) = (false, true);
            return is_allowed && is_value(item.trim());
        }
        if line.starts_with([' ', '\t']) {
            is_open = false;
            return !keys.is_empty() && !line.contains('\t');
        }
        is_list = false;
        let key = said.strip_suffix(':').map(|key| (key, ""));
        let Some((key, value)) = key.or_else(|| said.split_once(": ")) else {
            return false;
        };
        is_open = value.is_empty();
        !key.starts_with(['<', '[', '{', '*', '`', '@', '|'])
            && keys.insert(key.trim_end().to_owned())
            && is_value(value.trim())
    })
}

fn is_value(value: &str) -> bool {
    let is_closed = |end: char| value.len() > 1 && value.ends_with(end);
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => is_closed(quote),
        Some('[') => is_closed(']'),
        Some('{') => is_closed('}'),
        Some('*' | '%' | '@' | '`') => false,
        Some('|' | '>') => !value.contains(' '),
        _ => !value.contains(": ") && !value.ends_with(':'),
    }
}

/// The rest of a line that begins with a key.
fn value_of<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let rest = line.strip_prefix(key)?.strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

fn without_comment(value: &str) -> &str {
    let value = value.split(" #").next().unwrap_or_default().trim();
    if value.starts_with('#') { "" } else { value }
}

fn unquoted(value: &str) -> &str {
    value.trim_matches(['"', '\'']).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_between_braces_is_a_part_of_its_path() {
        let paths = |value: &str| paths(texts(&format!("paths: {value}\n"), "paths"));
        assert_eq!(
            paths("src/*.{ts,tsx}, lib/**"),
            ["src/*.{ts,tsx}", "lib/**"]
        );
    }

    #[test]
    fn headers_that_a_parser_refuses_are_known() {
        for (yaml, expected) in [
            ("a: b\n# c\n\nd: \"e\" # f\n", true),
            ("a:\n- b\n- \"*.md\"\nc: d | e", true),
            ("a:\n  - b\nc: d\n  more", true),
            ("a: [b, c]\nd: {e: f}\ng: !h i\nj: |\n  k", true),
            ("a: *", false),
            ("a: @b", false),
            ("a: `b`", false),
            ("a: b: c", false),
            ("a: b\n- c", false),
            ("a: b\na: c", false),
            ("a: b\n...\nc", false),
            ("a: b\nBe brief.", false),
            ("a: \"b", false),
            ("a: \"b\" c", false),
            ("a: [b", false),
            ("a: | b", false),
            ("\ta: b", false),
        ] {
            assert_eq!(is_valid(yaml), expected, "{yaml:?}");
        }
    }
}
