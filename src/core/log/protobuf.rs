//! Reads protocol buffers by the numbers of their fields, as far as they are ones.

/// The value of a field.
pub(super) enum Value<'a> {
    Number(u64),
    /// A text, bytes or another message.
    Bytes(&'a [u8]),
    /// A number of fixed size.
    Fixed,
}

/// Returns the fields with their numbers, up to what is none.
pub(super) fn fields(bytes: &[u8]) -> impl Iterator<Item = (u64, Value<'_>)> {
    let mut rest = bytes;
    std::iter::from_fn(move || next_field(&mut rest))
}

/// Returns the values of the fields that a path of numbers leads to.
pub(super) fn at<'a>(bytes: &'a [u8], path: &[u64]) -> Vec<&'a [u8]> {
    let Some((first, rest)) = path.split_first() else {
        return vec![bytes];
    };
    let inside = fields(bytes).filter_map(|(number, value)| match value {
        Value::Bytes(bytes) if number == *first => Some(bytes),
        _ => None,
    });
    inside.flat_map(|bytes| at(bytes, rest)).collect()
}

/// Returns the texts that a path leads to, one below the other.
pub(super) fn text(bytes: &[u8], path: &[u64]) -> String {
    let texts = at(bytes, path).into_iter().map(String::from_utf8_lossy);
    texts.collect::<Vec<_>>().join("\n")
}

fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let key = varint(rest)?;
    let length = match key & 7 {
        0 => return Some((key >> 3, Value::Number(varint(rest)?))),
        1 => 8,
        2 => usize::try_from(varint(rest)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (value, after) = rest.split_at_checked(length)?;
    *rest = after;
    let is_fixed = key & 7 != 2;
    let value = if is_fixed {
        Value::Fixed
    } else {
        Value::Bytes(value)
    };
    Some((key >> 3, value))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
