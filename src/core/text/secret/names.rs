//! Names whose values are secrets: `PASSWORD=…`, `api_key: "…"`, `--token …`, `<password>…`.

use super::context;
use super::scan::{Scan, is_blank, is_quote};
use super::value::{Kind, ValuePosition, is_placeholder, is_secret};

/// A word at the end of names whose values are secrets.
#[derive(Debug)]
pub(super) struct Name {
    /// The word, in lowercase.
    pub(super) word: &'static str,
    kind: Kind,
    stands: Stands,
    /// The text before the value of an example, and the value.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) example: (&'static str, &'static str),
    /// A similar text that is not a secret.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) innocent: &'static str,
}

/// Whether the value of a field with this name is a secret, whatever it looks like.
pub fn is_secret_key(name: &str) -> bool {
    const ENDINGS: [&str; 11] = [
        "accesskey",
        "apikey",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "passwd",
        "password",
        "privatekey",
        "secret",
        "secretkey",
    ];
    // What leads to the next page of an answer is no secret.
    const TOKENS: [&str; 9] = [
        "access", "api", "auth", "bearer", "csrf", "id", "refresh", "secret", "session",
    ];
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
    let plain: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    let token = plain.strip_suffix("token");
    ENDINGS.iter().any(|ending| plain.ends_with(ending))
        || token.is_some_and(|kind| kind.is_empty() || TOKENS.iter().any(|one| kind.ends_with(one)))
}

/// Where a word must be in a name.
#[derive(Debug, Clone, Copy)]
enum Stands {
    /// At the end of any name.
    Anyhow,
    /// As a separate word: `db_pass`, `dbPass`, not `bypass`.
    Apart,
    /// After one of these words, ignoring `-`, `_` and `.`.
    After(&'static [&'static str]),
    /// Not as the whole name, which is a directory, except in a connection string.
    AfterSomething,
}

use Kind::{Pair, Password, Token};

/// Words before `key` that make it a secret.
const KEYS: &[&str] = &[
    "access",
    "account",
    "admin",
    "aes",
    "api",
    "app",
    "auth",
    "azure",
    "client",
    "cognitive",
    "consumer",
    "deploy",
    "encryption",
    "fernet",
    "function",
    "hmac",
    "ingest",
    "jwt",
    "license",
    "master",
    "openai",
    "private",
    "rest",
    "role",
    "secret",
    "service",
    "session",
    "shared",
    "signing",
    "storage",
    "subscription",
    "write",
    "sharedaccess",
    "secretaccess",
    "primary_access",
];

const fn name(
    word: &'static str,
    (kind, stands): (Kind, Stands),
    example: (&'static str, &'static str),
    innocent: &'static str,
) -> Name {
    Name {
        word,
        kind,
        stands,
        example,
        innocent,
    }
}

/// The words of names.
#[rustfmt::skip] // One row per line.
pub(super) const NAMES: &[Name] = &[
    name("password", (Password, Stands::Anyhow), ("DB_PASSWORD=", "hunter22"), "password: string"),
    name("passwd", (Password, Stands::Anyhow), ("passwd = ", "\"s3cr3t!x\""), "cat /etc/passwd: not found"),
    name("passwort", (Password, Stands::Anyhow), ("Passwort: ", "geh3im!x"), "Passwort: vergessen"),
    name("wachtwoord", (Password, Stands::Anyhow), ("wachtwoord: ", "geh3im!x"), "wachtwoord: vergeten"),
    name("mot de passe", (Password, Stands::Anyhow), ("Mot de passe : ", "s3cret!x"), "mot de passe : oublié"),
    name("contraseña", (Password, Stands::Anyhow), ("contraseña: ", "cl4ve!xy"), "contraseña: olvidada"),
    name("senha", (Password, Stands::Apart), ("senha: ", "s3gredo!x"), "senha: esquecida"),
    name("hasło", (Password, Stands::Anyhow), ("hasło: ", "t4jne!xy"), "hasło: zapomniane"),
    name("пароль", (Password, Stands::Anyhow), ("пароль: ", "s3kret!x"), "пароль: строка"),
    name("密码", (Password, Stands::Anyhow), ("密码：", "m1ma!xyz"), "密码：必填"),
    name("密碼", (Password, Stands::Anyhow), ("密碼: ", "m1ma!xyz"), "密碼: 必填"),
    name("パスワード", (Password, Stands::Anyhow), ("パスワード：", "h1mitsu!x"), "パスワード：必須"),
    name("비밀번호", (Password, Stands::Anyhow), ("비밀번호: ", "b1mil!xy"), "비밀번호: 필수"),
    name("passphrase", (Password, Stands::Anyhow), ("KEY_PASSPHRASE=", "correct-horse-battery"), "passphrase: optional"),
    name("pass", (Password, Stands::Apart), ("SMTP_PASS=", "m4il(er"), "bypass=enabled compass: north12; First pass: src/v2-rewrite1, gate pass: 124/200, they pass: go test ./v2 Lektor-Pass → 3-Rollen-Validierung"),
    name("pwd", (Password, Stands::AfterSomething), ("DB_PWD=", "x9,y8::z7"), "PWD=/home/kim/shop"),
    name("secret", (Token, Stands::Anyhow), ("client_secret: ", "'8f2c1e9a7b3d'"), "let secret = Secret::new(value);"),
    name("token", (Token, Stands::Anyhow), ("\"access_token\": ", "\"a1b2c3d4e5\""), "let token = \"identifier\""),
    name("credentials", (Token, Stands::Anyhow), ("AWS_CREDENTIALS=", "k9f3a8c2e7b1"), "credentials: 'same-origin'"),
    name("credential", (Token, Stands::Anyhow), ("credential: ", "\"k9f3a8c2e7b1\""), "credential: Credential"),
    name("key", (Token, Stands::After(KEYS)), ("ENCRYPTION_KEY=", "9c1f0b7de2a84c55"), "primary_key: user_id_2024"),
    name("key_base", (Token, Stands::After(&["secret"])), ("SECRET_KEY_BASE=", "f3b1c9d07a52e64f"), "key_base=1024"),
    name("keybase", (Token, Stands::After(&["secret"])), ("secretKeyBase: ", "\"f3b1c9d07a52e64f\""), "keybase: enabled"),
    name("key-base", (Token, Stands::After(&["secret"])), ("--secret-key-base=", "f3b1c9d07a52e64f"), "key-base: 12"),
    name("pat", (Token, Stands::Apart), ("AZURE_DEVOPS_EXT_PAT=", "k9f3a8c2e7b1k9f3a8c2e7b1"), "pat: a short touch"),
    name("signature", (Token, Stands::After(&["amz", "goog"])), ("X-Amz-Signature=", "9e1c55f0a7b34d2288c1f6"), "signature: f1(a, b)"),
    name("auth", (Pair, Stands::Apart), ("\"auth\": ", "\"a2ltOmh1bnRlcjIy\""), "auth: required"),
];

/// An arrow, as notes have it between a name and its value.
const ARROW: &str = "→";

/// The colon of Chinese and Japanese texts.
const WIDE_COLON: &str = "：";

/// The number of bytes of a value that decide whether it is a secret.
const WINDOW: usize = 96;

/// The sign between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Equals,
    Colon,
    /// The end of a tag.
    Tag,
    /// A blank, after `--name`.
    Blank,
}

impl Name {
    /// Checks the word from `start` to `end`.
    pub(super) fn find(&self, scan: &mut Scan<'_>, start: usize, end: usize) {
        // Most words are in prose, which the next byte shows.
        let follows = scan
            .byte(end)
            .is_some_and(|byte| byte.is_ascii_digit() || b"\"'`\\] \t:=_>".contains(&byte));
        if !follows && !scan.has(end, WIDE_COLON) && !scan.has(end, ARROW) {
            return;
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte);
        let from = scan.run_back(start, 40, is_name);
        let from = behind_escape(scan, from).min(start);
        let name = scan.slice(from..end);
        if is_round(scan, from, name) {
            return;
        }
        let is_in_connection = scan.byte_before(from) == Some(b';');
        if !self.stands.allow(name, end - start) && !is_in_connection {
            return;
        }
        let end = numbered(scan, end);
        // `--token VALUE`, `aws configure set aws_secret_access_key VALUE`
        let is_flag = name.starts_with("--") || is_set(scan, from);
        let Some((at, sign, is_spaced)) = sign(scan, (from, end), is_flag) else {
            if self.kind == Password {
                context::password_in_words(scan, end);
            }
            return;
        };
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_upper = !last.bytes().any(|byte| byte.is_ascii_lowercase());
        let starts_setting = scan
            .byte_before(from)
            .is_some_and(|byte| b";?&".contains(&byte));
        let (at, quote) = opened(scan, at);
        let place = match (quote, sign) {
            (Some(_), _) if is_upper => ValuePosition::QuotedSetting,
            (Some(_), _) | (None, Sign::Tag) => ValuePosition::Quoted,
            (None, Sign::Blank) => ValuePosition::Flag,
            (None, Sign::Colon) => ValuePosition::Label,
            (None, Sign::Equals) if is_spaced => ValuePosition::Code,
            (None, Sign::Equals) if is_upper || starts_setting || name.starts_with('-') => {
                ValuePosition::Setting
            }
            (None, Sign::Equals) => ValuePosition::Code,
        };
        let is_label = place == ValuePosition::Label;
        let end = value_end(scan, at, (quote, is_label), WINDOW);
        // `<password>` alone is a placeholder.
        if sign == Sign::Tag && quote.is_none() && !scan.has(end, "</") {
            return;
        }
        let is_open = quote.is_none() && self.kind == Password && begins_line(scan, from);
        let end = phrase_end(scan, (at, end), place)
            .filter(|_| is_open)
            .unwrap_or(end);
        let value = scan.slice(at..end);
        if is_secret(value, self.kind, place) {
            let end = match end - at {
                WINDOW.. => value_end(scan, at, (quote, is_label), usize::MAX),
                _ => end,
            };
            let rule = match self.kind {
                Password => "password",
                Token | Pair => "named secret",
            };
            scan.accept(rule, at..end);
        }
    }
}

/// Whether `pass` is one of several times that something is gone through, or what tests do:
/// `First pass: …`, `they pass: …`.
fn is_round(scan: &Scan<'_>, from: usize, name: &str) -> bool {
    const NUMBERS: [&str; 20] = [
        "first", "second", "third", "next", "last", "final", "test", "each", "one", "they",
        "tests", "must", "all", "gate", "gates", "check", "checks", "should", "to", "will",
    ];
    let at = name.len().checked_sub("pass".len());
    let Some((before, word)) = at.and_then(|at| name.split_at_checked(at)) else {
        return false;
    };
    let end = scan.run_back(from, 2, is_blank);
    let start = scan.run_back(end, 8, |byte| byte.is_ascii_alphabetic());
    let number = scan.slice(start..end).to_ascii_lowercase();
    let is_numbered = before.is_empty() && end < from && NUMBERS.contains(&number.as_str());
    // A compound noun: `Lektor-Pass`.
    let is_noun = before.ends_with('-') && before.bytes().any(|byte| byte.is_ascii_lowercase());
    word.eq_ignore_ascii_case("pass") && is_numbered || word == "Pass" && is_noun
}

/// Whether a name begins its line, apart from marks of lists and numbers of lines.
fn begins_line(scan: &Scan<'_>, from: usize) -> bool {
    let is_mark = |byte: u8| is_blank(byte) || byte.is_ascii_digit() || b"-*>:".contains(&byte);
    let start = scan.run_back(from, 16, is_mark);
    scan.byte_before(start).is_none_or(|byte| byte == b'\n')
}

/// Returns the end of a value without quotes that has blanks in it, and is the rest of its line: plain
/// words after a setting, where a command would not be plain, or after a label some words of which one
/// is no word.
fn phrase_end(scan: &Scan<'_>, (at, end): (usize, usize), place: ValuePosition) -> Option<usize> {
    let rest = scan.run(end, WINDOW, |byte| {
        !b"\r\n;<>|\\".contains(&byte) && !is_quote(byte)
    });
    let ends = scan.byte(rest).is_none_or(|byte| b"\r\n\\".contains(&byte));
    let first = scan.slice(at..end);
    let whole = scan.slice(at..rest).trim_end();
    if !ends || whole.len() == first.len() || is_placeholder(first, place) {
        return None;
    }
    let mut words = whole.split_ascii_whitespace();
    let is_plain = |word: &str| word.chars().all(char::is_alphabetic);
    let is_odd = |word: &str| {
        let inner = word.trim_end_matches(['.', ',', '!', '?', ':']);
        let is_address = inner.contains("://") || inner.contains('@') && inner.contains('.');
        let is_mixed = inner.contains(['!', '@', '#', '$', '%', '^', '&', '~'])
            && inner.contains(|char: char| char.is_alphabetic());
        is_mixed && !inner.starts_with('#') && !is_address && !is_placeholder(inner, place)
    };
    let is_phrase = match place {
        ValuePosition::Setting => words.all(is_plain),
        ValuePosition::Label => {
            !is_secret(first, Password, place) && words.clone().count() <= 6 && words.any(is_odd)
        }
        _ => false,
    };
    is_phrase.then_some(at + whole.len())
}

/// Whether a command sets the name that begins here: its value follows after a blank.
fn is_set(scan: &Scan<'_>, from: usize) -> bool {
    const SET: &str = "configure set ";
    from.checked_sub(SET.len())
        .is_some_and(|at| scan.has(at, SET))
}

impl Stands {
    /// Whether the value of a name that ends in the word may be a secret.
    fn allow(self, name: &str, word: usize) -> bool {
        /// Tokens that only mark a position in a list or a document, or are not secret, and the name of a program.
        const OTHERS: [&str; 8] = [
            "1password",
            "doctoken",
            "nexttoken",
            "pagetoken",
            "continuationtoken",
            "cancellationtoken",
            "synctoken",
            "resumetoken",
        ];
        let (before, word) = name.split_at(name.len() - word);
        match self {
            Self::Anyhow => {
                let bare = bare(name);
                !OTHERS.iter().any(|other| bare.ends_with(other))
            }
            Self::Apart => match before.bytes().next_back() {
                // Tests report `PASS: a_test`.
                None => word != "PASS",
                Some(byte) if byte.is_ascii_lowercase() => word
                    .bytes()
                    .next()
                    .is_some_and(|byte| byte.is_ascii_uppercase()),
                Some(byte) => !byte.is_ascii_alphanumeric(),
            },
            Self::After(words) => {
                let bare = bare(before);
                words.iter().any(|word| bare.ends_with(word))
            }
            Self::AfterSomething => {
                let bare = bare(before);
                !bare.is_empty() && bare != "old"
            }
        }
    }
}

/// Skips the letter of an escaped line break, which looks like the first one of a name.
fn behind_escape(scan: &Scan<'_>, from: usize) -> usize {
    let is_letter = scan.byte(from).is_some_and(|byte| b"nrt".contains(&byte));
    from + usize::from(is_letter && scan.byte_before(from) == Some(b'\\'))
}

/// Returns a name in lowercase, without the characters that join its words.
fn bare(name: &str) -> String {
    name.chars()
        .filter(|char| char.is_ascii_alphanumeric())
        .map(|char| char.to_ascii_lowercase())
        .collect()
}

/// Skips a number at the end of a name: `PASSWORD_2`.
fn numbered(scan: &mut Scan<'_>, end: usize) -> usize {
    let dash = scan.run(end, 1, |byte| byte == b'_');
    let digits = scan.run(dash, 2, |byte| byte.is_ascii_digit());
    if digits > dash { digits } else { end }
}

/// Returns where the value may begin, the sign before it, and whether blanks surround the sign.
fn sign(
    scan: &mut Scan<'_>,
    (from, end): (usize, usize),
    is_flag: bool,
) -> Option<(usize, Sign, bool)> {
    let closed = scan.run(end, 4, |byte| is_quote(byte) || b"\\]".contains(&byte));
    let at = scan.run(closed, 8, is_blank);
    let has_blank = at > closed;
    let (after, sign) = match (scan.byte(at)?, scan.byte(at + 1)) {
        _ if scan.has(at, WIDE_COLON) => (at + WIDE_COLON.len(), Sign::Colon),
        _ if scan.has(at, ARROW) => (at + ARROW.len(), Sign::Colon),
        (b':', Some(b':')) => return None,
        (b':', Some(b'=')) => (at + 2, Sign::Equals),
        (b':', _) => (at + 1, Sign::Colon),
        (b'=', Some(b'>')) => (at + 2, Sign::Equals),
        (b'=', _) => (scan.run(at, 3, |byte| byte == b'='), Sign::Equals),
        (b'>', _) if at == end && scan.byte_before(from) == Some(b'<') => (at + 1, Sign::Tag),
        _ if is_flag && has_blank && closed == end => (at, Sign::Blank),
        _ => return None,
    };
    let value = scan.run(after, 8, is_blank);
    Some((value, sign, has_blank || value > after))
}

/// A quotation mark, and whether it is escaped by a backslash.
type Quote = (u8, bool);

/// Returns where the value begins, and the quotation mark before it.
fn opened(scan: &mut Scan<'_>, at: usize) -> (usize, Option<Quote>) {
    let is_prefixed = scan.byte(at).is_some_and(|byte| b"bBrRuU".contains(&byte))
        && scan.byte(at + 1).is_some_and(is_quote);
    let from = at + usize::from(is_prefixed);
    let slashes = scan.run(from, 8, |byte| byte == b'\\');
    match scan.byte(slashes).filter(|byte| is_quote(*byte)) {
        Some(quote) => {
            let inner = scan.run(slashes, 3, |byte| byte == quote);
            // Two quotation marks are an empty value.
            let inner = if inner - slashes == 2 {
                slashes + 1
            } else {
                inner
            };
            (inner, Some((quote, slashes > from)))
        }
        None => (at, None),
    }
}

/// Returns the end of a value, at most `most` bytes from its beginning. After a label an `&` is a
/// part of it; elsewhere it may separate the fields of a query.
fn value_end(
    scan: &mut Scan<'_>,
    at: usize,
    (quote, is_label): (Option<Quote>, bool),
    most: usize,
) -> usize {
    match quote {
        Some((_, true)) => scan.run(at, most, |byte| !b"\\\n".contains(&byte) && !is_quote(byte)),
        Some((quote, false)) => {
            let mut is_escaped = false;
            scan.run(at, most, |byte| {
                let was_escaped = is_escaped;
                is_escaped = byte == b'\\' && !was_escaped;
                byte != b'\n' && (was_escaped || byte != quote)
            })
        }
        None => {
            let end = scan.run(at, most, |byte| {
                let is_end = b";<>|\\".contains(&byte) || byte == b'&' && !is_label;
                !byte.is_ascii_whitespace() && !is_quote(byte) && !is_end
            });
            let value = scan.slice(at..end);
            at + unfinished(value).len()
        }
    }
}

/// Returns a value without a trailing comma, and cut at a bracket that was opened before it.
fn unfinished(value: &str) -> &str {
    let mut open = 0_usize;
    let end = value.char_indices().find(|(_, char)| match char {
        '(' | '[' | '{' => {
            open += 1;
            false
        }
        ')' | ']' | '}' => {
            let is_closed = open == 0;
            open = open.saturating_sub(1);
            is_closed
        }
        _ => false,
    });
    let value = &value[..end.map_or(value.len(), |(at, _)| at)];
    value.trim_end_matches(',')
}
