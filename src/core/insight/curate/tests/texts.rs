//! Bad and good texts, found and left alone: orders to the agent, secrets, hidden characters.
//!
//! `texts.tsv` has one text a line: the half, the kind and the text. The texts were written before
//! the rules were tuned, and only the half `tuned` was looked at while they were. `\n` and `\u{…}`
//! are escapes; `{{A20}}` stands for twenty random letters and digits, so that no line looks like
//! a real secret.

use super::Fixture;

/// The letters of a random part, by its kind.
fn alphabet(kind: char) -> &'static [u8] {
    match kind {
        'A' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        'U' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
        'H' => b"0123456789abcdef",
        _ => b"0123456789",
    }
}

/// The text with its escapes and random parts replaced.
fn written_out(text: &str, seed: usize) -> String {
    let mut state = seed as u64 + 1;
    let mut random = || {
        // A linear congruential generator is random enough for a password.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let parts = regex::Regex::new(r"\{\{([AUHD])(\d+)\}\}|\\n|\\u\{([0-9A-Fa-f]+)\}");
    let parts = parts.expect("a valid pattern");
    let replaced = parts.replace_all(text, |found: &regex::Captures<'_>| {
        if let (Some(kind), Some(count)) = (found.get(1), found.get(2)) {
            let letters = alphabet(kind.as_str().chars().next().unwrap_or('D'));
            let count: usize = count.as_str().parse().expect("a number");
            return (0..count)
                .map(|_| char::from(letters[random() % letters.len()]))
                .collect();
        }
        match found.get(3) {
            Some(code) => u32::from_str_radix(code.as_str(), 16)
                .ok()
                .and_then(char::from_u32)
                .expect("a character")
                .to_string(),
            None => "\n".to_owned(),
        }
    });
    replaced.into_owned()
}

#[test]
fn poison_and_secrets_are_found_and_good_texts_are_left_alone() {
    let rows: Vec<[&str; 3]> = include_str!("texts.tsv")
        .lines()
        .map(|line| {
            let mut fields = line.splitn(3, '\t');
            std::array::from_fn(|_| fields.next().expect("three fields"))
        })
        .collect();
    let files: Vec<(String, String)> = rows
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let text = written_out(row[2], number);
            (format!("t{number:04}.md"), super::memory("t", &text))
        })
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let fixture = Fixture::new(&files);
    let mut told = vec![false; rows.len()];
    for rule in ["orders", "secret", "hidden-text"] {
        for finding in fixture.findings(rule) {
            let number: usize = finding.path[1..5].parse().expect("a number");
            told[number] = true;
        }
    }
    for half in ["tuned", "held"] {
        // The texts of some kinds that are told, and those that are not.
        let of = |is_kind: fn(&str) -> bool| {
            let rows = rows.iter().zip(&told);
            let rows = rows.filter(|(row, _)| row[0] == half && is_kind(row[1]));
            let (found, left): (Vec<_>, Vec<_>) = rows.partition(|(_, told)| **told);
            [found, left].map(|rows| rows.iter().map(|(row, _)| row[2]).collect::<Vec<_>>())
        };
        let [found, missed] = of(|kind| kind != "good" && kind != "order");
        assert!(
            found.len() >= 20 && missed.len() <= 1,
            "{half}: {missed:#?}"
        );
        // The others are of kinds that the rule leaves alone: to spread, to lie, to praise.
        let [found, missed] = of(|kind| kind == "order");
        assert!(found.len() >= missed.len(), "{half}: {missed:#?}");
        let [wrong, silent] = of(|kind| kind == "good");
        assert!(
            wrong.len() <= 2 && silent.len() >= 150,
            "{half}: {wrong:#?}"
        );
    }
}
