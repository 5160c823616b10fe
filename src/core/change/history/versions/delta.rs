//! The encoding of a version: compressed, whole or as a difference from another.

use std::io;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, compress_bound, get_error_name};

/// The compression level of a whole version.
const WHOLE_LEVEL: i32 = 9;

/// The compression level of a difference.
const DELTA_LEVEL: i32 = 6;

/// Compresses a version, as a difference from `base` if there is one.
pub(super) fn compress(bytes: &[u8], base: Option<&[u8]>) -> io::Result<Vec<u8>> {
    let mut context = CCtx::create();
    let level = base.map_or(WHOLE_LEVEL, |_| DELTA_LEVEL);
    let reach = bytes.len() + base.map_or(0, <[u8]>::len);
    let mut set = |parameter| context.set_parameter(parameter).map_err(failed);
    set(CParameter::CompressionLevel(level))?;
    // The window has to reach back to the start of the base.
    set(CParameter::WindowLog(window(reach)))?;
    if let Some(base) = base {
        context.ref_prefix(base).map_err(failed)?;
    }
    let mut stored = Vec::with_capacity(compress_bound(bytes.len()));
    context.compress2(&mut stored, bytes).map_err(failed)?;
    Ok(stored)
}

/// Decompresses a version of `size` bytes.
pub(super) fn expand(stored: &[u8], base: Option<&[u8]>, size: usize) -> io::Result<Vec<u8>> {
    let mut context = DCtx::create();
    if let Some(base) = base {
        context.ref_prefix(base).map_err(failed)?;
    }
    let mut bytes = Vec::with_capacity(size);
    context.decompress(&mut bytes, stored).map_err(failed)?;
    Ok(bytes)
}

/// The logarithm of the smallest window of `reach` bytes, within the limits of zstd.
fn window(reach: usize) -> u32 {
    let bits = usize::BITS - reach.leading_zeros();
    bits.clamp(10, 27)
}

fn failed(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_more_in_a_long_text_costs_next_to_nothing() {
        let line = |n: usize| {
            let hash = blake3::hash(&n.to_le_bytes()).to_hex();
            format!("- [memory {n}](memory_{n}.md) — {}\n", &hash[..40])
        };
        let before: String = (0..1500).map(line).collect();
        let after: String = (0..1501).filter(|n| *n != 700).map(line).collect();
        let delta = compress(after.as_bytes(), Some(before.as_bytes())).expect("compresses");
        assert!(delta.len() < 120, "{} bytes", delta.len());
        let back = expand(&delta, Some(before.as_bytes()), after.len()).expect("expands");
        assert!(back == after.as_bytes());
        // A base that starts like a zstd dictionary is treated as plain text.
        let odd = [&[0x37, 0xA4, 0x30, 0xEC][..], after.as_bytes()].concat();
        let delta = compress(after.as_bytes(), Some(&odd)).expect("compresses");
        let back = expand(&delta, Some(&odd), after.len()).expect("expands");
        assert!(back == after.as_bytes());
    }

    #[test]
    fn nothing_and_noise_come_back() {
        let noise: Vec<u8> = (0u32..500)
            .flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes())
            .collect();
        for bytes in [&b""[..], b"x", &noise] {
            for base in [None, Some(&b""[..]), Some(&noise[..])] {
                let stored = compress(bytes, base).expect("compresses");
                let back = expand(&stored, base, bytes.len()).expect("expands");
                assert!(back == bytes);
            }
        }
        assert!(expand(b"no frame", None, 8).is_err());
    }
}
