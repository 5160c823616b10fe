//! Decodes the content of a JSON string.

use memchr::memchr;

/// Decodes what is between the quotes of a string; invalid parts become U+FFFD.
pub(super) fn decode(inside: &[u8]) -> String {
    match memchr(b'\\', inside) {
        None => lossy(inside.to_vec()),
        Some(first) => lossy(unescape(inside, first)),
    }
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Decodes the escapes of a string; `first` is the offset of the first one.
fn unescape(inside: &[u8], first: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(inside.len());
    let mut rest = inside;
    let mut next = Some(first);
    while let Some(backslash) = next {
        out.extend_from_slice(&rest[..backslash]);
        rest = &rest[backslash + 1..];
        rest = unescape_one(rest, &mut out);
        next = memchr(b'\\', rest);
    }
    out.extend_from_slice(rest);
    out
}

/// Decodes the escape whose backslash has just been read, and returns the bytes after it.
fn unescape_one<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((&kind, after)) = rest.split_first() else {
        out.push(b'\\');
        return rest;
    };
    match kind {
        b'n' => out.push(b'\n'),
        b't' => out.push(b'\t'),
        b'r' => out.push(b'\r'),
        b'b' => out.push(8),
        b'f' => out.push(12),
        b'u' => return unescape_unicode(after, out),
        // `"`, `\` and `/`, and invalid escapes.
        _ => out.push(kind),
    }
    after
}

fn unescape_unicode<'a>(after: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some(unit) = hex(after) else {
        out.extend_from_slice(b"\\u");
        return after;
    };
    let mut rest = &after[4..];
    let mut code = unit;
    if (0xD800..0xDC00).contains(&unit)
        && let Some(low) = rest.strip_prefix(b"\\u").and_then(hex)
        && (0xDC00..0xE000).contains(&low)
    {
        code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        rest = &rest[6..];
    }
    let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    rest
}

fn hex(bytes: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(bytes.get(..4)?).ok()?;
    // `from_str_radix` accepts a sign, JSON does not.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}
