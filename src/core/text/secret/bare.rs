//! Secrets that have neither a start nor a name: as many random letters as a kind of key has.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::scan::Scan;
use super::value::is_random;

/// A kind of key.
pub(super) struct BareKey {
    name: &'static str,
    letters: usize,
    holds: fn(u8) -> bool,
    /// What stands behind the letters.
    ending: &'static str,
    /// The last letters with which the bits behind the last byte are zero.
    last: &'static [char],
    /// The least and the largest number of digits.
    digits: (usize, usize),
    /// Whether only a text was encoded.
    is_text: fn(&str) -> bool,
}

pub(super) const KEYS: [BareKey; 2] = [
    // Of before 2024: 32 random bytes in base32.
    BareKey {
        name: "Azure DevOps token",
        letters: 52,
        holds: |byte| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte),
        ending: "",
        last: &['a', 'q'],
        digits: (3, 24),
        is_text: is_text_in_base32,
    },
    // 64 random bytes in base64.
    BareKey {
        name: "Azure storage key",
        letters: 86,
        holds: |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'),
        ending: "==",
        last: &['A', 'Q', 'g', 'w'],
        digits: (3, 40),
        is_text: is_text_in_base64,
    },
];

/// Words before such letters that say that they are a hash, a signature or an encoded text.
const NO_KEYS: [&str; 15] = [
    "sha-",
    "sha1",
    "sha2",
    "sha3",
    "sha5",
    "hash",
    "digest",
    "sum",
    "base32",
    "base64",
    "b32",
    "b64",
    "cid",
    "integrity",
    "signature",
];

impl BareKey {
    /// Finds keys of this kind.
    pub(super) fn find(&self, scan: &mut Scan<'_>) {
        // So many letters in a row have one at a multiple of their number.
        let mut at = self.letters - 1;
        while let Some(byte) = scan.byte(at) {
            if !(self.holds)(byte) {
                at += self.letters;
                continue;
            }
            let mut start = scan.run_back(at, self.letters, self.holds);
            let end = scan.run(at, self.letters + 1, self.holds);
            // An escaped line break ends in a letter.
            let is_escaped =
                end - start == self.letters + 1 && start > 0 && scan.starts_word(start + 1);
            start += usize::from(is_escaped);
            if end - start == self.letters && self.is_one(scan, start, end) {
                scan.accept(self.name, start..end + self.ending.len());
            }
            at = end + self.letters;
        }
    }

    /// Whether the letters between these places can only be a key: nothing joins them to a path, a host
    /// or a longer word, the bits behind their last byte are zero, and they are neither text nor, by the
    /// words before them, a hash.
    fn is_one(&self, scan: &Scan<'_>, start: usize, end: usize) -> bool {
        let joins = |byte: Option<u8>, signs: &[u8]| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || signs.contains(&byte))
        };
        let before = scan.byte_before(start);
        let is_start =
            scan.starts_word(start) && !before.is_some_and(|byte| b"_-/+%.".contains(&byte));
        let behind = end + self.ending.len();
        let is_host = scan.byte(behind) == Some(b'.') && joins(scan.byte(behind + 1), b"");
        let value = scan.slice(start..end);
        let digits = value.bytes().filter(u8::is_ascii_digit).count();
        let line = scan.run_back(start, 24, |byte| byte != b'\n');
        let said = scan.slice(line..start).to_lowercase();
        is_start
            && scan.has(end, self.ending)
            && !joins(scan.byte(behind), b"_-/+=%")
            && !is_host
            && value.ends_with(self.last)
            && (self.digits.0..=self.digits.1).contains(&digits)
            && is_random(value)
            && !(self.is_text)(value)
            && !NO_KEYS.iter().any(|word| said.contains(word))
    }
}

/// Whether only ASCII was encoded: the first bit of every byte is zero.
fn is_text_in_base32(value: &str) -> bool {
    let letters = value.bytes().map(|byte| match byte {
        b'a'..=b'z' => byte - b'a',
        digit => digit - b'2' + 26,
    });
    let bits = letters.flat_map(|five| (0..5).rev().map(move |bit| five >> bit & 1));
    bits.step_by(8).all(|bit| bit == 0)
}

/// Whether only ASCII was encoded.
fn is_text_in_base64(value: &str) -> bool {
    STANDARD_NO_PAD
        .decode(value)
        .is_ok_and(|bytes| bytes.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        crate::core::text::secret::find(text).len()
    }

    #[test]
    fn a_storage_key_is_found_without_a_name_and_a_hash_is_none() {
        let bytes: Vec<u8> = (0..64_u32)
            .map(|at| (at * at * 37 + at * 91 + 129) as u8)
            .collect();
        let key = STANDARD_NO_PAD.encode(&bytes) + "==";
        for text in [
            "KEY",
            "the shared key is KEY, use it",
            "\"KEY\"",
            "a\nKEY\nb",
        ] {
            assert_eq!(found(&text.replace("KEY", &key)), 1, "{text}");
        }
        for text in [
            "sha512-KEY",
            "\"integrity\": \"KEY\"",
            "signature: KEY",
            "aKEY",
            "KEYa",
            "/KEY",
        ] {
            assert_eq!(found(&text.replace("KEY", &key)), 0, "{text}");
        }
        let text = "words that stand in sixty-four letters, 1 2 3 4 and are no key..";
        assert_eq!(found(&(STANDARD_NO_PAD.encode(text) + "==")), 0);
    }
}
