//! Writes Neo's encoding, which [`super::Reader`] reads.

/// The number of bytes that [`number`] writes.
#[must_use]
pub fn number_length(number: u64) -> usize {
    match number {
        0..0xfd => 1,
        0xfd..0xffff => 3,
        0xffff..0xffff_ffff => 5,
        _ => 9,
    }
}

/// Writes a variable-length number as neo-go does (`io.PutVarUint`): the largest number of a form
/// is written in the next longer one. The C# node writes 65,535 in 3 bytes.
pub fn number(into: &mut Vec<u8>, number: u64) {
    match number {
        0..0xfd => into.push(number as u8),
        0xfd..0xffff => {
            into.push(0xfd);
            into.extend_from_slice(&(number as u16).to_le_bytes());
        }
        0xffff..0xffff_ffff => {
            into.push(0xfe);
            into.extend_from_slice(&(number as u32).to_le_bytes());
        }
        _ => {
            into.push(0xff);
            into.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// Writes the length of `bytes`, then the bytes.
pub fn string(into: &mut Vec<u8>, bytes: &[u8]) {
    number(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}
