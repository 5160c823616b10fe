//! Secrets in text that leaves the machine.
//!
//! Known shapes only: a secret without a shape stays, and words that merely look odd
//! are left alone. What is masked keeps its first characters where they tell what it
//! was (`ghp_‹masked›`).

/// What stands in a secret's place.
const MASKED: &str = "‹masked›";

/// Tokens known by how they begin, with the least length of what follows.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("whsec_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 22),
    ("glpat-", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 30),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 35),
    ("ya29.", 20),
    ("SG.", 30),
    ("dop_v1_", 40),
];

/// Names whose assigned value is a secret, in lower case without `-` and `_`.
const NAMES: &[&str] = &[
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "authtoken",
    "clientsecret",
    "password",
    "passwd",
    "privatekey",
    "pwd",
    "refreshtoken",
    "secretaccesskey",
    "secretkey",
    "secret",
    "token",
];

/// Returns `text` with what looks like a secret replaced.
pub fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let starts_word = !out.chars().next_back().is_some_and(is_token);
        if starts_word && let Some((kept, length)) = secret(rest) {
            out.push_str(&rest[..kept]);
            out.push_str(MASKED);
            rest = &rest[length..];
            continue;
        }
        let next = next_word(rest);
        out.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    out
}

/// Returns the length up to where the next word may begin.
fn next_word(text: &str) -> usize {
    let mut chars = text.char_indices();
    let first = chars.next().map(|(_, char)| char);
    let mut was_token = first.is_some_and(is_token);
    for (at, char) in chars {
        let token = is_token(char);
        if (token && !was_token) || (!token && char == '-') {
            return at;
        }
        was_token = token;
    }
    text.len()
}

/// Returns how much of the secret that `text` begins with is kept, and how long it is.
fn secret(text: &str) -> Option<(usize, usize)> {
    private_key(text)
        .or_else(|| token(text))
        .or_else(|| web_token(text))
        .or_else(|| bearer(text))
        .or_else(|| url(text))
        .or_else(|| assignment(text))
}

fn token(text: &str) -> Option<(usize, usize)> {
    PREFIXES.iter().find_map(|(prefix, least)| {
        let body = text.strip_prefix(prefix)?;
        let length = run(body, |char| is_token(char) || char == '-' || char == '.');
        let body = body[..length].trim_end_matches(['.', '-']);
        // A sentence with dashes is no key: keys have digits.
        let has_digit = body.bytes().any(|byte| byte.is_ascii_digit());
        (body.len() >= *least && has_digit).then(|| (prefix.len(), prefix.len() + body.len()))
    })
}

/// A JSON web token: three parts, of which the first is an encoded `{"`.
fn web_token(text: &str) -> Option<(usize, usize)> {
    if !text.starts_with("eyJ") {
        return None;
    }
    let length = run(text, |char| is_token(char) || char == '-' || char == '.');
    let parts = text[..length].split('.').filter(|part| part.len() >= 4);
    (parts.count() >= 2 && length >= 30).then_some((3, length))
}

fn bearer(text: &str) -> Option<(usize, usize)> {
    let scheme = ["Bearer ", "bearer ", "Basic "]
        .iter()
        .find(|scheme| text.starts_with(**scheme))?;
    let length = run(&text[scheme.len()..], |char| {
        is_token(char) || "-._~+/=".contains(char)
    });
    let value = &text[scheme.len()..scheme.len() + length];
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    (length >= 16 && has_digit).then(|| (scheme.len(), scheme.len() + length))
}

fn private_key(text: &str) -> Option<(usize, usize)> {
    let line = text.strip_prefix("-----BEGIN ")?;
    let label = &line[..line.find("-----")?];
    if !label.ends_with("PRIVATE KEY") && !label.ends_with("PRIVATE KEY BLOCK") {
        return None;
    }
    let kept = "-----BEGIN -----".len() + label.len();
    let end = format!("-----END {label}-----");
    // Without an end it is masked to the end of the text.
    let length = text.find(&end).unwrap_or(text.len());
    Some((kept, length))
}

/// A password inside a URL: `scheme://user:password@host`.
fn url(text: &str) -> Option<(usize, usize)> {
    let scheme = run(text, |char| char.is_ascii_alphanumeric() || char == '+');
    let rest = text[scheme..].strip_prefix("://")?;
    let authority = run(rest, |char| {
        !char.is_whitespace() && !"/?#\"'`<>".contains(char)
    });
    let user_info = &rest[..rest[..authority].rfind('@')?];
    let colon = user_info.find(':')?;
    let password = &user_info[colon + 1..];
    if password.is_empty() || is_placeholder(password) {
        return None;
    }
    let start = scheme + "://".len();
    Some((start + colon + 1, start + user_info.len()))
}

/// An assignment such as `PASSWORD=x`, `api_key: "x"` or `"token": "x"`.
fn assignment(text: &str) -> Option<(usize, usize)> {
    let name_length = run(text, |char| is_token(char) || char == '-');
    let name: String = text[..name_length]
        .chars()
        .filter(|char| *char != '_' && *char != '-')
        .map(|char| char.to_ascii_lowercase())
        .collect();
    if !NAMES.iter().any(|known| name.ends_with(known)) {
        return None;
    }
    let mut at = name_length;
    at += run(&text[at..], |char| {
        char == '"' || char == '\'' || char == '\\'
    });
    at += run(&text[at..], |char| char == ' ');
    let is_equals = text[at..].starts_with('=');
    if !is_equals && !text[at..].starts_with(':') {
        return None;
    }
    at += 1;
    at += run(&text[at..], |char| char == ' ');
    let quotes = run(&text[at..], |char| {
        char == '"' || char == '\'' || char == '\\'
    });
    at += quotes;
    let length = match quotes {
        0 => run(&text[at..], |char| {
            !char.is_whitespace() && !"\"'`\\,;&)}]<>".contains(char)
        }),
        _ => run(&text[at..], |char| !"\"'\\\n".contains(char)),
    };
    let value = &text[at..at + length];
    let least = if is_equals || quotes > 0 { 6 } else { 8 };
    let is_secret = length >= least && !is_placeholder(value) && !is_expression(value);
    // Bare prose such as `password: whatever` needs more than letters to be a secret.
    let is_plain = quotes == 0 && !is_equals && value.chars().all(char::is_alphabetic);
    (is_secret && !is_plain).then_some((at, at + length))
}

/// Tells whether the value stands for a secret that is elsewhere.
fn is_placeholder(value: &str) -> bool {
    value.starts_with(['$', '<', '{', '*', '%'])
        || value
            .chars()
            .all(|char| char == '*' || char == 'x' || char == '.')
        || value.starts_with("REDACTED")
        || value.starts_with('‹')
}

/// Tells whether the value is code rather than data.
fn is_expression(value: &str) -> bool {
    value.contains('(')
        || value.contains("::")
        || value.contains("->")
        || value.contains("process.")
}

/// Returns the length of the beginning whose characters all fit.
fn run(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|char| !fits(char)).unwrap_or(text.len())
}

fn is_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_shape_of_a_secret_is_masked() {
        let cases = [
            (
                "key sk-ant-api03-AbCdEf0123456789_xyz end",
                "key sk-‹masked› end",
            ),
            ("ghp_0123456789abcdefghijABCDEFGHIJ012345.", "ghp_‹masked›."),
            (
                "github_pat_11ABCDE_0123456789abcdefghij",
                "github_pat_‹masked›",
            ),
            ("id AKIAIOSFODNN7EXAMPLE1, ok", "id AKIA‹masked›, ok"),
            ("xoxb-123456789012-abcdef", "xoxb-‹masked›"),
            (
                "Authorization: Bearer abcdef0123456789abcdef",
                "Authorization: Bearer ‹masked›",
            ),
            (
                "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl!",
                "eyJ‹masked›!",
            ),
            ("PASSWORD=hunter22 next", "PASSWORD=‹masked› next"),
            ("DB_PASSWORD='correct horse'", "DB_PASSWORD='‹masked›'"),
            ("api_key: \"a1b2c3d4e5\"", "api_key: \"‹masked›\""),
            (
                "{\"access_token\":\"a1b2c3d4e5\"}",
                "{\"access_token\":\"‹masked›\"}",
            ),
            (
                "\\\"apiKey\\\": \\\"a1b2c3d4e5\\\"",
                "\\\"apiKey\\\": \\\"‹masked›\\\"",
            ),
            ("--token=abcdef123456", "--token=‹masked›"),
            (
                "postgres://app:s3cret@db.example/x?y=1",
                "postgres://app:‹masked›@db.example/x?y=1",
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(mask(given), expected);
        }
    }

    #[test]
    fn a_private_key_keeps_only_its_fences() {
        let text = "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\nbnNz\n-----END OPENSSH PRIVATE KEY-----\nb";
        assert_eq!(
            mask(text),
            "a\n-----BEGIN OPENSSH PRIVATE KEY-----‹masked›-----END OPENSSH PRIVATE KEY-----\nb"
        );
        assert_eq!(
            mask("-----BEGIN PRIVATE KEY-----\ncut"),
            "-----BEGIN PRIVATE KEY-----‹masked›"
        );
    }

    #[test]
    fn what_only_looks_like_one_stays() {
        let cases = [
            "ask-me-anything-about-this-long-hyphenated-sentence",
            "sk-learn-is-a-library-for-machine-learning",
            "the token: whatever follows",
            "password=$PASSWORD and token=${TOKEN}",
            "let token = lexer.next();",
            "let secret = Secret::new(value);",
            "token_count: 12345678",
            "max_tokens=4096000",
            "https://example.com/a:b@c",
            "ssh://git@github.com:22/a",
            "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
            "a Bearer of bad news indeed today",
            "commit 6f1ed002ab5595859014ebf0951522d9e2b1c3d4",
            "日本語 password",
        ];
        for text in cases {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn masking_twice_changes_nothing_more() {
        let once = mask("PASSWORD=hunter22 ghp_0123456789abcdefghijABCDEFGHIJ012345");
        assert_eq!(mask(&once), once);
    }
}
