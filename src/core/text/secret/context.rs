//! Secrets recognized by the text around them: a header, a URL, a command, a block.

use super::Look;
use super::scan::{Scan, is_blank, is_quote};
use super::value::{Kind, ValuePosition, is_pair, is_placeholder, is_random, is_secret};

/// A context in which secrets occur.
#[derive(Debug)]
pub(super) struct Context {
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) name: &'static str,
    /// The words that start the check, in any case.
    pub(super) words: &'static [&'static str],
    pub(super) find: Look,
    /// The text before a secret, the secret, and the text after it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) example: [&'static str; 3],
    /// A similar text without a secret.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read it"))]
    pub(super) innocent: &'static str,
}

const fn context(
    name: &'static str,
    (words, find): (&'static [&'static str], Look),
    example: [&'static str; 3],
    innocent: &'static str,
) -> Context {
    Context {
        name,
        words,
        find,
        example,
        innocent,
    }
}

/// The contexts.
#[rustfmt::skip] // One row per line.
pub(super) const CONTEXTS: &[Context] = &[
    context("private key", (&["-----BEGIN "], private_key), ["-----BEGIN RSA PRIVATE KEY-----\n", "MIIEowIBAAKCAQEA7Qh4", "\n-----END RSA PRIVATE KEY-----"], "grep -- \"-----BEGIN PRIVATE KEY-----\" *.pem"),
    context("PuTTY key", (&["Private-Lines:"], putty), ["Private-Lines: 2\n", "AAAAgQC3x9Zk8s7QwPz1\nb4Lm2Nf0Rt6Yh8Uj==", "\nPrivate-MAC: 0"], "Private-Lines: how many lines follow"),
    context("password in a URL", (&["://"], url), ["postgres://app:", "pa/s5:w0rd", "@db.example/x?y=1"], "http://localhost:8080/npm/@scope/pkg"),
    context("Authorization header", (&["authorization"], authorization), ["Authorization: token ", "0a1b2c3d4e5f6071", ""], "Authorization: Bearer <token>"),
    context("bearer token", (&["bearer"], bearer), ["-H 'X: BEARER ", "0a1b2c3d4e5f60718293", "'"], "a Bearer of bad news indeed today"),
    context("basic credentials", (&["basic"], basic), ["then Basic ", "a2ltOmh1bnRlcjIy", " was sent"], "Basic authentication is on"),
    context("cookie", (&["cookie"], cookie), ["Cookie: sid=", "f81d4fae7dec11d0; theme=dark", ""], "cookie: a small thing"),
    context("curl user", (&[" -u", "--user"], user), ["curl -s -u kim:", "hunter22", " https://shop.example"], "docker run -u 1000:1000 image"),
    context("password of a command", (&[" -p"], command_password), ["mysql -u root -p", "hunter22", " shop"], "mkdir -p src/core/secret12"),
    context("Redis password", (&[" -a"], redis_password), ["redis-cli -h cache -a ", "hunter22", " ping"], "redis-cli -h cache --scan; ls -a notes22"),
    context("wandb key", (&["wandb login"], wandb), ["wandb login ", "4a0d8fe4c368eeb9f68b9610ebf697980a7552e3", ""], "wandb login --relogin"),
    context("shared access signature", (&["sig="], signature), ["https://a.blob.example/c?sv=2022&sig=", "k3Jd9%2Bf8Lm2Qx7Zp4Rt6Yh8Uj0Wv5Nb1Ca%3D", "&se=2026"], "sig=SIGTERM"),
    context("vault token", (&["vault login"], vault), ["vault login -method=token ", "s.8fK2l9D7s6G5h4J3k1M0", ""], "vault login -method=userpass username=kim"),
    context("password of a web server", (&["htpasswd"], htpasswd), ["htpasswd -cb .htpasswd kim ", "hunter22", ""], "htpasswd -c .htpasswd kim22"),
    context("password in a pipe", (&["--password-stdin"], piped), ["echo ", "hunter22", " | docker login -u kim --password-stdin"], "cat key22.txt | docker login --password-stdin"),
    context("SQL password", (&["identified by", "with password '"], identified), ["CREATE USER kim IDENTIFIED BY '", "hunter22", "'"], "IDENTIFIED BY its number"),
];

/// Words that give a later word its meaning.
#[rustfmt::skip] // One row per line.
pub(super) const HINTS: &[(&str, Look)] = &[
    ("curl", |scan, _, end| scan.seen().curl = Some(end)),
    ("wget", |scan, _, end| scan.seen().curl = Some(end)),
    ("login", |scan, _, end| scan.seen().login = Some(end)),
    ("mysql", takes_password),
    ("mysqldump", takes_password),
    ("mariadb", takes_password),
    ("sshpass", takes_password),
    ("redis-cli", |scan, _, end| scan.seen().redis = Some(end)),
    ("docker login", logs_in),
    ("az login", logs_in),
];

/// A command whose `-p` is a password.
fn takes_password(scan: &mut Scan<'_>, _: usize, end: usize) {
    scan.seen().password_command = Some(end);
}

fn logs_in(scan: &mut Scan<'_>, start: usize, end: usize) {
    takes_password(scan, start, end);
    scan.seen().login = Some(end);
}

/// The maximum number of bytes that are examined after a word.
const WINDOW: usize = 160;

/// Whether a byte may be part of a word of a command: no blank, no line break and no quote.
fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !is_quote(byte)
}

/// The number of bytes after a hint in which it applies.
const REACH: usize = 240;

fn is_near(hint: Option<usize>, at: usize) -> bool {
    hint.is_some_and(|hint| at.saturating_sub(hint) <= REACH)
}

/// A private key between its fences, with real or escaped (`\n`) line breaks.
fn private_key(scan: &mut Scan<'_>, _: usize, end: usize) {
    let label_end = scan.run(end, 64, |byte| {
        byte.is_ascii_uppercase() || b" 0123456789".contains(&byte)
    });
    let label = scan.slice(end..label_end);
    let is_private = label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK");
    if !is_private || !scan.has(label_end, "-----") {
        return;
    }
    let at = label_end + "-----".len();
    if let Some(fence) = scan.next_fence(at)
        && scan.has(fence + "-----END ".len(), label)
    {
        return scan.accept("private key", at..fence);
    }
    // Without an end fence, the text must look like a key: the fence may only be mentioned.
    let first = scan.run(at, 4, |byte| b"\\nr \r\n".contains(&byte));
    let word = scan.run(first, 24, |byte| {
        byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
    });
    if word - first >= 16 || (word == scan.len() && word > first) {
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\ \r\n\t:,-".contains(&byte);
        let end = scan.run(at, usize::MAX, is_key);
        scan.accept("private key", at..end);
    }
}

fn putty(scan: &mut Scan<'_>, _: usize, end: usize) {
    let number = scan.run(end, 8, |byte| byte.is_ascii_digit() || byte == b' ');
    let lines = scan.run(number, 4, |byte| b"\\nr\r\n".contains(&byte));
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let first = scan.run(lines, 24, is_base64);
    // Blanks stand for line breaks where lines were joined.
    let is_joined = scan.slice(end..number).trim_start().ends_with(' ');
    if number > end && (lines > number || is_joined) && first - lines >= 16 {
        let end = scan.run(lines, usize::MAX, |byte| {
            is_base64(byte) || b"\\\r\n".contains(&byte) || is_joined && byte == b' '
        });
        // The name of the next field is also valid base64.
        let body = scan.slice(lines..end);
        let last = body.rfind(['\n', '\\', ' ']).map_or(body.len(), |at| {
            if body.len() - at < 40 && !body.ends_with('=') {
                at
            } else {
                body.len()
            }
        });
        scan.accept("PuTTY key", lines..lines + last);
    }
}

/// `scheme://user:password@host`
fn url(scan: &mut Scan<'_>, start: usize, at: usize) {
    let scheme = scan.run_back(start, 20, |byte| {
        byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
    });
    if scheme == start {
        return;
    }
    let user = scan.run(at, 80, |byte| is_bare(byte) && !b"/?#@:<>".contains(&byte));
    if scan.byte(user) != Some(b':') {
        return;
    }
    let from = user + 1;
    let end = scan.run(from, WINDOW, |byte| is_bare(byte) && !b"<>".contains(&byte));
    let port = scan.run(from, 5, |byte| byte.is_ascii_digit());
    let is_port =
        port > from && (port == end || scan.byte(port).is_some_and(|byte| b"/?#".contains(&byte)));
    if is_port {
        return;
    }
    // The password may contain `/` and `@`: it ends at the first `@` before a host.
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]".contains(&byte);
    let mut password = from;
    for _ in 0..4 {
        password = scan.run(password, end - password, |byte| byte != b'@');
        if password == end {
            return;
        }
        let host = scan.run(password + 1, 80, is_host);
        let is_end = scan.byte(host) != Some(b'@') && host > password + 1;
        if is_end {
            break;
        }
        password += 1;
    }
    let value = scan.slice(from..password);
    // `MONGO_PASS` is the name of a variable.
    let is_name = value.contains('_')
        && value
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || b"_]".contains(&byte));
    let is_word = is_name || ["pass", "pwd", "pw", "user", "username"].contains(&value);
    if !value.is_empty() && !is_word && !is_placeholder(value, ValuePosition::Setting) {
        scan.accept("password in a URL", from..password);
    }
}

/// The credentials of an Authorization header, after the scheme.
fn authorization(scan: &mut Scan<'_>, _: usize, end: usize) {
    let closed = scan.run(end, 4, |byte| is_quote(byte) || b"\\]".contains(&byte));
    let sign = scan.run(closed, 8, is_blank);
    if !scan.byte(sign).is_some_and(|byte| b":=,".contains(&byte)) {
        return;
    }
    let opened = scan.run(sign + 1, 8, |byte| {
        is_blank(byte) || is_quote(byte) || byte == b'\\'
    });
    let scheme = scan.run(opened, 24, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'-'
    });
    let has_scheme = scheme > opened && scan.byte(scheme) == Some(b' ');
    let at = if has_scheme {
        scan.run(scheme, 4, is_blank)
    } else {
        opened
    };
    let is_value = |byte: u8| is_bare(byte) && !b"\\<>".contains(&byte);
    let end = scan.run(at, WINDOW, is_value);
    let value = scan.slice(at..end);
    let is_credential = value.len() >= 8 && (is_random(value) || is_pair(value));
    if !is_credential || is_placeholder(value, ValuePosition::Label) || value.contains(['(', '{']) {
        return;
    }
    // Some schemes have several fields; all of them are masked.
    let is_line = |byte: u8| !is_quote(byte) && !b"\r\n\\".contains(&byte);
    let end = if value.contains('=') && value.contains(',') {
        scan.run(at, usize::MAX, is_line)
    } else {
        scan.run(at, usize::MAX, is_value)
    };
    scan.accept("Authorization header", at..end);
}

fn bearer(scan: &mut Scan<'_>, _: usize, end: usize) {
    if let Some((at, end)) = credentials(scan, end) {
        let value = scan.slice(at..end);
        // When a token ends is told in the same place: `Bearer exp=1775228057972`.
        let time = value.strip_prefix("exp=").unwrap_or(value);
        let is_time = time.len() < value.len() && time.bytes().all(|byte| byte.is_ascii_digit());
        let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
        if value.len() >= 16 && has_digit && is_random(value) && !is_time {
            let end = scan.run(at, usize::MAX, is_credential);
            scan.accept("bearer token", at..end);
        }
    }
}

fn basic(scan: &mut Scan<'_>, _: usize, end: usize) {
    if let Some((at, end)) = credentials(scan, end)
        && is_pair(scan.slice(at..end))
    {
        let end = scan.run(at, usize::MAX, is_credential);
        scan.accept("basic credentials", at..end);
    }
}

fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Returns the range of the credentials after a scheme and a blank, at most [`WINDOW`] bytes.
fn credentials(scan: &mut Scan<'_>, end: usize) -> Option<(usize, usize)> {
    let at = scan.run(end, 4, is_blank);
    let at = if scan.has(at, "%20") { at + 3 } else { at };
    (at > end).then(|| (at, scan.run(at, WINDOW, is_credential)))
}

/// The cookies of a header or of `--cookie`.
fn cookie(scan: &mut Scan<'_>, start: usize, end: usize) {
    let closed = scan.run(end, 4, |byte| is_quote(byte) || byte == b'\\');
    let is_flag = start >= 2 && scan.has(start - 2, "--");
    let is_sign = |byte: u8| byte == b':' || (is_flag && (byte == b' ' || byte == b'='));
    let sign = scan.run(closed, 1, is_sign);
    if sign == closed {
        return;
    }
    let at = scan.run(sign, 8, |byte| {
        is_blank(byte) || is_quote(byte) || byte == b'\\'
    });
    cookies(scan, at);
}

/// Masks cookies from the first value after `at` to the end of the line or the quotation.
fn cookies(scan: &mut Scan<'_>, at: usize) {
    let name = scan.run(at, 64, |byte| {
        byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
    });
    if name == at || scan.byte(name) != Some(b'=') {
        return;
    }
    let from = name + 1;
    let is_value = |byte: u8| is_bare(byte) && !b";,\\".contains(&byte);
    let end = scan.run(from, WINDOW, is_value);
    let value = scan.slice(from..end);
    if value.len() >= 8 && !is_placeholder(value, ValuePosition::Setting) {
        let end = scan.run(from, usize::MAX, |byte| {
            !is_quote(byte) && !b"\r\n\\".contains(&byte)
        });
        scan.accept("cookie", from..end);
    }
}

/// `curl -u user:password`
fn user(scan: &mut Scan<'_>, start: usize, end: usize) {
    if !is_near(scan.seen().curl, start) {
        return;
    }
    let at = scan.run(end, 4, |byte| {
        is_blank(byte) || is_quote(byte) || byte == b'='
    });
    let name = scan.run(at, 80, |byte| is_bare(byte) && byte != b':');
    if scan.byte(name) != Some(b':') {
        return;
    }
    let from = name + 1;
    let end = scan.run(from, WINDOW, is_bare);
    let value = scan.slice(from..end);
    if value.len() >= 4 && !is_placeholder(value, ValuePosition::Setting) {
        scan.accept("curl user", from..end);
    }
}

/// `mysql -psecret`, `sshpass -p secret`
fn command_password(scan: &mut Scan<'_>, start: usize, end: usize) {
    if !is_near(scan.seen().password_command, start) {
        return;
    }
    let at = scan.run(end, 2, |byte| is_blank(byte) || is_quote(byte));
    let end = scan.run(at, WINDOW, |byte| is_bare(byte) && !b";&|".contains(&byte));
    let value = scan.slice(at..end);
    if is_secret(value, Kind::Password, ValuePosition::Flag) {
        scan.accept("password of a command", at..end);
    }
}

/// `redis-cli -a secret`
fn redis_password(scan: &mut Scan<'_>, start: usize, end: usize) {
    let Some(hint) = scan.seen().redis.filter(|hint| is_near(Some(*hint), start)) else {
        return;
    };
    // The option must belong to the same command.
    let is_command = |byte: u8| !b"\r\n;&|".contains(&byte);
    let at = scan.run(end, 2, |byte| is_blank(byte) || is_quote(byte));
    if at == end || scan.run(hint, REACH, is_command) < start {
        return;
    }
    let end = scan.run(at, WINDOW, is_bare);
    let value = scan.slice(at..end);
    if is_secret(value, Kind::Password, ValuePosition::Flag) {
        scan.accept("Redis password", at..end);
    }
}

/// `wandb login KEY`
fn wandb(scan: &mut Scan<'_>, _: usize, end: usize) {
    let at = scan.run(end, 2, is_blank);
    let to = scan.run(at, 41, |byte| byte.is_ascii_hexdigit());
    if at > end && to - at == 40 {
        scan.accept("wandb key", at..to);
    }
}

/// The signature of a URL that grants access without other credentials.
fn signature(scan: &mut Scan<'_>, start: usize, end: usize) {
    let is_value = |byte: u8| byte.is_ascii_alphanumeric() || b"%+/=_-".contains(&byte);
    if !scan.starts_word(start) {
        return;
    }
    let to = scan.run(end, WINDOW, is_value);
    let value = scan.slice(end..to);
    let is_in_query = matches!(scan.byte_before(start), Some(b'&' | b'?' | b';'));
    let least = if is_in_query { 8 } else { 20 };
    if value.len() >= least && is_random(value) {
        let to = scan.run(end, usize::MAX, is_value);
        scan.accept("shared access signature", end..to);
    }
}

/// `vault login TOKEN`
fn vault(scan: &mut Scan<'_>, _: usize, end: usize) {
    let mut at = end;
    // Options come first.
    for _ in 0..4 {
        let word = scan.run(at, 4, is_blank);
        let next = scan.run(word, WINDOW, |byte| !byte.is_ascii_whitespace());
        if word == at || next == word {
            return;
        }
        if scan.byte(word) != Some(b'-') {
            let value = scan.slice(word..next);
            if is_secret(value, Kind::Token, ValuePosition::Flag) && !value.contains('=') {
                scan.accept("vault token", word..next);
            }
            return;
        }
        at = next;
    }
}

/// `htpasswd -b FILE USER PASSWORD`
fn htpasswd(scan: &mut Scan<'_>, _: usize, end: usize) {
    let mut at = end;
    let (mut has_batch, mut words) = (false, 0);
    for _ in 0..8 {
        let word = scan.run(at, 4, is_blank);
        let word = scan.run(word, 1, is_quote);
        let next = scan.run(word, WINDOW, |byte| {
            is_bare(byte) && !b";&|".contains(&byte)
        });
        if word == at || next == word {
            return;
        }
        let text = scan.slice(word..next);
        match text.strip_prefix('-') {
            Some(options) => {
                has_batch |= options.contains('b');
                // With `-n` nothing is written, and no file is named.
                words += usize::from(options.contains('n'));
            }
            None => words += 1,
        }
        if words == 3 {
            if has_batch && !is_placeholder(text, ValuePosition::Flag) {
                scan.accept("password of a web server", word..next);
            }
            return;
        }
        at = scan.run(next, 1, is_quote);
    }
}

/// `echo PASSWORD | docker login --password-stdin`
fn piped(scan: &mut Scan<'_>, start: usize, _: usize) {
    let line = scan.run_back(start, REACH, |byte| !b"\r\n".contains(&byte));
    let before = scan.slice(line..start);
    let Some(pipe) = before.rfind('|') else {
        return;
    };
    let said = ["echo ", "printf "];
    let said = said.iter().filter_map(|word| {
        let at = before[..pipe].rfind(word)?;
        Some(at + word.len())
    });
    let Some(from) = said.max() else { return };
    let is_around = |c: char| c.is_whitespace() || "\"'`".contains(c);
    let value = before[from..pipe].trim_end_matches(is_around);
    let value = value.strip_prefix("-n ").unwrap_or(value);
    let bare = value.trim_start_matches(is_around);
    if bare.len() >= 4 && !is_placeholder(bare, ValuePosition::Setting) {
        let end = from + before[from..pipe].trim_end_matches(is_around).len();
        scan.accept("password in a pipe", line + end - bare.len()..line + end);
    }
}

/// `IDENTIFIED BY 'password'`
fn identified(scan: &mut Scan<'_>, _: usize, end: usize) {
    // `with password:` is a name like any other.
    let at = match scan.byte(end - 1) {
        Some(b'\'') => end - 1,
        _ => scan.run(end, 4, is_blank),
    };
    // Other quotes may enclose a name.
    let Some(quote) = scan.byte(at).filter(|byte| *byte == b'\'') else {
        return;
    };
    let to = scan.run(at + 1, WINDOW, |byte| byte != quote && byte != b'\n');
    let value = scan.slice(at + 1..to);
    if !is_placeholder(value, ValuePosition::QuotedSetting) {
        scan.accept("SQL password", at + 1..to);
    }
}

/// A password without a sign before it: in a netrc file, or in `the password is x`.
pub(super) fn password_in_words(scan: &mut Scan<'_>, end: usize) {
    let is_in_netrc = is_near(scan.seen().login, end);
    let at = scan.run(end, 8, |byte| is_blank(byte) || byte == b'\n');
    let verb = ["is ", "was ", "is: "]
        .into_iter()
        .find(|verb| scan.has(at, verb));
    let (at, place) = match verb {
        Some(verb) => (at + verb.len(), ValuePosition::Prose),
        None if is_in_netrc && at > end => (at, ValuePosition::Setting),
        None => match after_words(scan, at) {
            Some(at) => (at, ValuePosition::Prose),
            None => return,
        },
    };
    let at = scan.run(at, 2, |byte| is_blank(byte) || is_quote(byte));
    let to = scan.run(at, WINDOW, is_bare);
    let value = scan.slice(at..to);
    let value = value.trim_end_matches(['.', ',', ';', ')']);
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    if has_digit && is_secret(value, Kind::Password, place) {
        scan.accept("password", at..at + value.len());
    }
}

/// Where a value begins after a few words and a colon: `password for the shop: …`.
fn after_words(scan: &mut Scan<'_>, at: usize) -> Option<usize> {
    /// The most bytes of the words.
    const WORDS: usize = 48;
    let is_word = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80 || byte == b' ';
    let end = scan.run(at, WORDS, is_word);
    let is_label = end > at && scan.byte(end) == Some(b':') && scan.byte(end + 1) == Some(b' ');
    is_label.then_some(end + 2)
}
