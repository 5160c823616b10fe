//! The words that a text must have for a pattern to match. A pattern is compiled when a text has them.

use std::iter::Peekable;
use std::str::Chars;

type Rest<'a> = Peekable<Chars<'a>>;

/// Words of which every match of a pattern has at least one; empty if it may match without any. The
/// names of tables in the pattern are replaced already.
pub(super) fn literals(pattern: &str) -> Vec<String> {
    alternatives(&mut pattern.to_lowercase().chars().peekable())
}

/// Reads alternatives and the end of their group.
fn alternatives(rest: &mut Rest<'_>) -> Vec<String> {
    let mut all = Some(Vec::new());
    loop {
        let words = sequence(rest);
        all = all.filter(|_| !words.is_empty());
        all.iter_mut().for_each(|all| all.extend_from_slice(&words));
        if rest.next() != Some('|') {
            return all.unwrap_or_default();
        }
    }
}

/// Reads a sequence: the words of that part of it whose shortest word is longest.
fn sequence(rest: &mut Rest<'_>) -> Vec<String> {
    let mut best = Vec::new();
    let mut offer = |words: Vec<String>| {
        let shortest = |words: &[String]| words.iter().map(String::len).min().unwrap_or(0);
        if shortest(&words) > shortest(&best) {
            best = words;
        }
    };
    let mut run = String::new();
    while rest.peek().is_some_and(|c| !matches!(c, '|' | ')')) {
        let (letter, group) = piece(rest);
        let least = repeated(rest);
        run.extend(letter.filter(|_| least != Some(0)));
        if letter.is_none() || least.is_some() {
            offer(vec![std::mem::take(&mut run)]);
        }
        if least != Some(0) {
            offer(group);
        }
    }
    offer(vec![run]);
    best
}

/// Reads a letter, or what stands for others with the words that it has.
fn piece(rest: &mut Rest<'_>) -> (Option<char>, Vec<String>) {
    let mut group = Vec::new();
    let letter = match rest.next() {
        Some('(') => {
            if rest.next_if_eq(&'?').is_some() {
                rest.next();
            }
            group = alternatives(rest);
            None
        }
        Some('[') => {
            while let Some(c) = rest.next().filter(|c| *c != ']') {
                if c == '\\' {
                    rest.next();
                }
            }
            None
        }
        Some('\\') => match rest.next() {
            Some('x') => rest.next().and(rest.next()).and(None),
            escaped => escaped.filter(|c| !c.is_alphanumeric()),
        },
        Some(' ' | '~' | '^' | '$' | '.') => None,
        other => other,
    };
    (letter, group)
}

/// Reads how often the piece before is repeated at least, if that is said.
fn repeated(rest: &mut Rest<'_>) -> Option<usize> {
    let least = match rest.next_if(|c| matches!(c, '?' | '*' | '+' | '{'))? {
        '+' => 1,
        '{' => {
            let least = usize::from(rest.peek() != Some(&'0'));
            rest.find(|c| *c == '}');
            least
        }
        _ => 0,
    };
    rest.next_if_eq(&'?');
    Some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_match_has_one_of_the_words() {
        for (pattern, words) in [
            (r"\b(?:curl|wget) https?://\S+", vec!["curl", "wget"]),
            (
                r"()(?:send|e?mail)[\x20\t]|отправ(?:ь|ляй)",
                vec!["send", "mail", "отправ"],
            ),
            (r"\.env(?:[^.\w]|$)|id_(?:rsa|ed25519)", vec![".env", "id_"]),
            (r"colou?rs{2,3}x*yz", vec!["colo"]),
            (r"(?:a|b)?~[^\]x]+|word", vec![]),
            (r"(?:INST )?[a-z]{0,9}?\(key\)", vec!["(key)"]),
        ] {
            assert_eq!(literals(pattern), words, "{pattern}");
        }
    }
}
