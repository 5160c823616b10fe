//! Whether a value is a secret, or a word, a placeholder, a path or code.

/// What kind of secret a name calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something that a person chose: any characters.
    Password,
    /// Something that a program made: letters and digits without a meaning.
    Token,
    /// `user:password` in base64.
    Pair,
}

/// How a value stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValuePosition {
    /// `NAME=value`, in a file of settings, a command, a connection string or a query.
    Setting,
    /// In quotes, after a name in capitals.
    QuotedSetting,
    /// In quotes.
    Quoted,
    /// `name = value`, as code has it.
    Code,
    /// `name: value` without quotes.
    Label,
    /// `--name value`
    Flag,
    /// `the name is value`
    Prose,
}

impl ValuePosition {
    fn is_quoted(self) -> bool {
        matches!(self, Self::Quoted | Self::QuotedSetting)
    }
}

/// Tells whether a value is a secret of this kind.
pub(super) fn is_secret(value: &str, kind: Kind, place: ValuePosition) -> bool {
    let value = value.trim_end();
    if is_placeholder(value, place) || is_path(value) || value.contains("://") {
        return false;
    }
    if !place.is_quoted() && is_code(value, place) {
        return false;
    }
    let traits = Traits::of(value);
    match kind {
        Kind::Pair => is_pair(value),
        Kind::Token => {
            let least = match place {
                ValuePosition::Setting | ValuePosition::QuotedSetting | ValuePosition::Quoted => 8,
                ValuePosition::Code
                | ValuePosition::Label
                | ValuePosition::Flag
                | ValuePosition::Prose => 10,
            };
            value.len() >= least && (is_random(value) || is_mixed_word(value))
        }
        Kind::Password => {
            let is_mixed = (traits.letters && traits.digits) || traits.symbols;
            match place {
                ValuePosition::Setting | ValuePosition::QuotedSetting => value.len() >= 5,
                ValuePosition::Quoted => {
                    let is_word =
                        value.len() < 16 || !value.bytes().all(|byte| byte.is_ascii_lowercase());
                    value.len() >= 5
                        && (is_mixed || (traits.digits && value.len() >= 6) || !is_word)
                }
                ValuePosition::Label => {
                    value.len() >= 6 && (is_mixed || (traits.digits && !traits.letters))
                }
                ValuePosition::Code | ValuePosition::Flag | ValuePosition::Prose => {
                    value.len() >= 6 && is_mixed
                }
            }
        }
    }
}

/// What a value is made of.
struct Traits {
    letters: bool,
    digits: bool,
    /// Something that is in no word, number, name or sentence.
    symbols: bool,
}

impl Traits {
    fn of(value: &str) -> Self {
        let inner = value.trim_end_matches(['.', ',', '!', '?', ':', ';', ')']);
        Self {
            letters: value.bytes().any(|byte| byte.is_ascii_alphabetic()),
            digits: value.bytes().any(|byte| byte.is_ascii_digit()),
            symbols: inner.contains([
                '!', '@', '#', '$', '%', '^', '&', '*', '+', '=', '~', '?', '|',
            ]),
        }
    }
}

/// Tells whether the value stands for a secret that is elsewhere, or for none at all.
pub(super) fn is_placeholder(value: &str, place: ValuePosition) -> bool {
    const PARTS: [&str; 15] = [
        "your",
        "example",
        "placeholder",
        "redacted",
        "masked",
        "dummy",
        "xxxx",
        "****",
        "....",
        "todo",
        "insert",
        "replace",
        "-here",
        "_here",
        "…",
    ];
    const WHOLE: [&str; 24] = [
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "string",
        "number",
        "boolean",
        "unset",
        "empty",
        "default",
        "required",
        "optional",
        "changeme",
        "change-me",
        "change_me",
        "password",
        "passwd",
        "secret",
        "token",
        "enabled",
        "disabled",
        "unknown",
    ];
    if value.is_empty() || value.starts_with(['<', '‹', '{', '[']) {
        return true;
    }
    // What follows a closing quotation mark was taken for what follows an opening one.
    if value.starts_with(", ") || value.starts_with(')') {
        return true;
    }
    if value.starts_with("${") || value.starts_with("$(") || value.starts_with("#{") {
        return true;
    }
    if value.starts_with('%') && value.ends_with('%') {
        return true;
    }
    let first = value.chars().next();
    if value
        .chars()
        .all(|char| Some(char) == first || "*x.-_X•".contains(char))
    {
        return true;
    }
    if let Some(name) = value.strip_prefix('$') {
        // A variable: in capitals, or without digits. In single quotes a dollar is a dollar.
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_plain = !name.bytes().any(|byte| byte.is_ascii_lowercase())
            || !name.bytes().any(|byte| byte.is_ascii_digit());
        if is_name && is_plain && place != ValuePosition::Prose {
            return true;
        }
    }
    let lower = value.to_ascii_lowercase();
    let bare = lower.trim_end_matches([',', ';', '.', ')']);
    // In a password that a person chose a word means nothing; only whole words do.
    PARTS.iter().any(|part| lower.contains(part)) || WHOLE.contains(&bare)
}

fn is_path(value: &str) -> bool {
    let is_rooted = value.starts_with('/') && value[1..].contains('/') && !value.ends_with('=');
    let is_windows = value.as_bytes().get(1..3) == Some(b":\\");
    is_rooted && !is_random(value)
        || is_windows
        || ["~/", "./", "../", "file:"]
            .iter()
            .any(|start| value.starts_with(start))
}

/// Tells whether the value is code: a name, a field, a call, a type.
fn is_code(value: &str, place: ValuePosition) -> bool {
    let value = value.trim_end_matches([',', ';']);
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_setting = place == ValuePosition::Setting;
    // A call, or in a setting a whole one: a password may have a bracket.
    if let Some((called, rest)) = value.split_once('(') {
        let path = called
            .trim_end_matches('!')
            .replace("::", ".")
            .replace("->", ".");
        let is_called = !path.is_empty()
            && path.bytes().all(|byte| is_name_byte(byte) || byte == b'.')
            && !path.as_bytes()[0].is_ascii_digit();
        if is_called && (!is_setting || rest.ends_with(')')) {
            return true;
        }
    }
    if !is_setting && value.starts_with(['&', '@', '!', '(', '|', '*']) {
        let rest = value.trim_start_matches(['&', '@', '!', '(', '|', '*']);
        if rest
            .bytes()
            .all(|byte| is_name_byte(byte) || b".:->()".contains(&byte))
        {
            return true;
        }
    }
    let hex = value.strip_prefix("0x").unwrap_or_default();
    if (1..=16).contains(&hex.len()) && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return true;
    }
    // Fields: `auth.Token`, `Secret::new`, `process.env.KEY`, `args[0]`.
    let path = value
        .replace("::", ".")
        .replace("->", ".")
        .replace("?.", ".");
    let path = path.split(['[', '<']).next().unwrap_or_default();
    let parts: Vec<&str> = path.split('.').collect();
    let is_name = |part: &str| {
        let starts = part
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        starts && part.bytes().all(is_name_byte)
    };
    if parts.len() > 1 && parts.iter().all(|part| is_name(part)) {
        let has_digits = value.bytes().any(|byte| byte.is_ascii_digit());
        let has_random = parts.iter().any(|part| is_random(part));
        return !has_random && (!is_setting || !has_digits);
    }
    // One name: a variable, or a type.
    let is_one = parts.len() == 1 && is_name(path);
    let digits = path.bytes().filter(u8::is_ascii_digit).count();
    let ends_in_digits = path
        .trim_end_matches(|char: char| char.is_ascii_digit())
        .len()
        + digits
        == path.len();
    let is_constant = path.contains('_')
        && !path.bytes().any(|byte| byte.is_ascii_lowercase())
        && !is_random(path);
    let is_plain = path.len() < value.len() || (digits <= 1 && ends_in_digits) || is_constant;
    !is_setting && is_one && is_plain
}

/// Tells whether a text has no meaning: a part of it mixes letters and digits as no word does, or
/// is very long.
pub(super) fn is_random(text: &str) -> bool {
    text.split([
        '-', '_', '.', '/', ' ', ':', '@', '%', '=', '~', ',', '$', '(',
    ])
    .any(is_random_part)
}

/// Tells whether a text is one word with many digits.
fn is_mixed_word(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    text.bytes().all(|byte| byte.is_ascii_alphanumeric()) && digits >= 3 && text.len() >= digits + 3
}

fn is_random_part(part: &str) -> bool {
    let count = |is: fn(&u8) -> bool| part.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let letters = upper + lower;
    match part.len() {
        0..6 => false,
        // A word with a number at its end is a name: `sha256sum`, `utf8`, `v2024`.
        6..12 => digits >= 2 && letters >= 2 && changes(part) >= 2,
        length => {
            let is_mixed = changes(part) >= 2 || changes_of_case(part) >= 3;
            (digits >= 8 && letters >= 6)
                || (digits >= 1 && letters >= 2 && is_mixed)
                || (length >= 16 && upper >= 3 && lower >= 3 && changes_of_case(part) >= 6)
                || (letters == 0 && digits == length)
                || (length >= 40 && digits == 0 && letters == length)
        }
    }
}

/// How often a letter follows a digit or a digit a letter.
fn changes(part: &str) -> usize {
    let digits: Vec<bool> = part.bytes().map(|byte| byte.is_ascii_digit()).collect();
    digits.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

fn changes_of_case(part: &str) -> usize {
    let upper: Vec<bool> = part.bytes().map(|byte| byte.is_ascii_uppercase()).collect();
    upper.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Tells whether this is a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12]
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Tells whether this is `user:password` in base64.
pub(super) fn is_pair(value: &str) -> bool {
    use base64::Engine as _;
    use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
    let bare = value.trim_end_matches('=').as_bytes();
    // A window may have cut it; four characters are three bytes.
    let whole = &bare[..bare.len() - if bare.len() > 64 { bare.len() % 4 } else { 0 }];
    let decoded = BASE64_STANDARD_NO_PAD
        .decode(whole)
        .or_else(|_| BASE64_URL_SAFE_NO_PAD.decode(whole));
    value.len() >= 8
        && decoded.is_ok_and(|bytes| {
            let is_text = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
            is_text
                && bytes
                    .iter()
                    .position(|byte| *byte == b':')
                    .is_some_and(|at| at > 0)
        })
}
