//! Finds where values end, without decoding them.

use memchr::memchr;

use super::Broken;

/// The number of 8-byte words that are searched without `memchr`.
const NEAR: usize = 8;

/// Scans the fields of the object at `at` and returns the object's end. `take` gets each
/// key and the start of its value, and returns the end of the value.
pub(super) fn fields<'a>(
    bytes: &'a [u8],
    at: usize,
    take: &mut impl FnMut(&'a [u8], usize) -> Result<usize, Broken>,
) -> Result<usize, Broken> {
    if bytes.get(at) != Some(&b'{') {
        return Err(Broken);
    }
    let mut at = skip_space(bytes, at + 1);
    if bytes.get(at) == Some(&b'}') {
        return Ok(at + 1);
    }
    loop {
        if bytes.get(at) != Some(&b'"') {
            return Err(Broken);
        }
        let key_end = end_of_string(bytes, at)?;
        let key = &bytes[at + 1..key_end - 1];
        at = skip_space(bytes, key_end);
        if bytes.get(at) != Some(&b':') {
            return Err(Broken);
        }
        at = skip_space(bytes, at + 1);
        at = skip_space(bytes, take(key, at)?);
        match bytes.get(at) {
            Some(b',') => at = skip_space(bytes, at + 1),
            Some(b'}') => return Ok(at + 1),
            _ => return Err(Broken),
        }
    }
}

/// Returns the end of the whitespace at `at`.
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Returns the end of the string that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    let inside = &bytes[at + 1..];
    // Quotes are rarer than backslashes in text, so this searches for quotes and counts the
    // backslashes before each: after an even number the quote ends the string.
    let mut from = 0;
    while let Some(next) = find_quote(&inside[from..]) {
        let quote = from + next;
        let before = &inside[..quote];
        let escapes = match before.last() {
            Some(b'\\') => before
                .iter()
                .rev()
                .take_while(|byte| **byte == b'\\')
                .count(),
            _ => 0,
        };
        if escapes % 2 == 0 {
            return Ok(at + quote + 2);
        }
        from = quote + 1;
    }
    Err(Broken)
}

/// Finds the first quote.
///
/// Most strings are short, and in long ones the next quote is mostly near: the first words
/// are searched directly, which is cheaper than calling `memchr`.
fn find_quote(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const QUOTES: u64 = ONES * b'"' as u64;
    let mut at = 0;
    for word in bytes.as_chunks().0.iter().take(NEAR) {
        // A byte of `other` is zero where there is a quote; this finds the lowest one.
        let other = u64::from_le_bytes(*word) ^ QUOTES;
        let zeros = other.wrapping_sub(ONES) & !other & (ONES << 7);
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr(b'"', &bytes[at..]).map(|next| at + next)
}

/// Returns the end of the value that begins at `at`; counts the depth instead of recursing.
pub(super) fn end_of_value(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    match bytes.get(at) {
        Some(b'"') => end_of_string(bytes, at),
        Some(b'{' | b'[') => end_of_nest(bytes, at),
        Some(byte) if is_bare(*byte) => {
            let rest = &bytes[at..];
            let length = rest.iter().position(|byte| !is_bare(*byte));
            let length = length.unwrap_or(rest.len());
            Ok(at + length)
        }
        _ => Err(Broken),
    }
}

fn end_of_nest(bytes: &[u8], mut at: usize) -> Result<usize, Broken> {
    let mut depth = 0usize;
    loop {
        match bytes.get(at) {
            Some(b'"') => {
                at = end_of_string(bytes, at)?;
                continue;
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => {
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            Some(b',' | b':' | b' ' | b'\t' | b'\r' | b'\n') => {}
            Some(byte) if is_bare(*byte) => {}
            // Not part of any literal: two records have run into each other.
            _ => return Err(Broken),
        }
        at += 1;
    }
}

/// Whether the byte can be part of a number or of `true`, `false`, `null`.
fn is_bare(byte: u8) -> bool {
    matches!(
        byte,
        b'0'..=b'9'
            | b'-'
            | b'+'
            | b'.'
            | b'E'
            | b'a'
            | b'e'
            | b'f'
            | b'l'
            | b'n'
            | b'r'
            | b's'
            | b't'
            | b'u'
    )
}
