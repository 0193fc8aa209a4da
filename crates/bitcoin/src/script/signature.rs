//! Parses ECDSA signatures and keys in scripts and witnesses.

use blockmill_signatures::Key;

/// The library verifies shorter signatures. It removes a signature from the script that it signs
/// before hashing. The pushes in standard forms are hashes of 20 bytes and keys, which begin with
/// 2, 3 or 4, so none of them equals a longer signature.
const SHORTEST: usize = 40;

/// A signature with its hash type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EcdsaSignature {
    pub r: [u8; 32],
    pub s: [u8; 32],
    pub hash_type: u8,
}

impl EcdsaSignature {
    /// Parses strict DER (BIP66) with one of the six known hash types. `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (&hash_type, der) = bytes.split_last()?;
        if bytes.len() < SHORTEST || !matches!(hash_type, 1..=3 | 0x81..=0x83) {
            return None;
        }
        let (&[0x30, length], numbers) = der.split_first_chunk()? else { return None };
        if usize::from(length) != numbers.len() {
            return None;
        }
        let (r, rest) = number(numbers)?;
        let (s, rest) = number(rest)?;
        rest.is_empty().then_some(EcdsaSignature { r, s, hash_type })
    }
}

/// Reads a positive DER number of at most 256 bits in its shortest form. Returns it with the rest.
fn number(bytes: &[u8]) -> Option<([u8; 32], &[u8])> {
    let (&[0x02, length], rest) = bytes.split_first_chunk()? else { return None };
    let (number, rest) = rest.split_at_checked(usize::from(length))?;
    let digits = match *number {
        [] | [0x80..=0xff, ..] => return None,
        // a leading zero must be necessary for the sign, or the number 0
        [0, next, ..] if next < 0x80 => return None,
        [0, ref digits @ ..] => digits,
        _ => number,
    };
    let mut out = [0; 32];
    out.get_mut(32usize.checked_sub(digits.len())?..)?.copy_from_slice(digits);
    Some((out, rest))
}

/// Parses a key that begins with 2, 3 or 4 and has the right length. The library verifies hybrid
/// keys (6, 7).
pub(super) fn key(bytes: &[u8]) -> Option<Key> {
    match bytes {
        [2 | 3, ..] => bytes.try_into().ok().map(Key::Compressed),
        [4, ..] => bytes.try_into().ok().map(Key::Uncompressed),
        _ => None,
    }
}

/// Parses a taproot signature with or without hash type (BIP341).
pub(super) fn schnorr(bytes: &[u8]) -> Option<([u8; 64], u8)> {
    let (signature, rest) = bytes.split_first_chunk()?;
    match rest {
        [] => Some((*signature, 0)),
        // hash type 0 must be omitted
        [hash_type @ (1..=3 | 0x81..=0x83)] => Some((*signature, *hash_type)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(r: &[u8], s: &[u8], hash_type: u8) -> Vec<u8> {
        let mut out = vec![0x30, (r.len() + s.len() + 4) as u8, 2, r.len() as u8];
        out.extend_from_slice(r);
        out.extend_from_slice(&[2, s.len() as u8]);
        out.extend_from_slice(s);
        out.push(hash_type);
        out
    }

    #[test]
    fn strict_der_is_read_and_nothing_else() {
        let (plain, mut high) = ([0x7f; 32], [0x80; 33]);
        high[0] = 0;
        let parsed = EcdsaSignature::parse(&encoded(&plain, &high, 0x81)).unwrap();
        assert_eq!((parsed.r, parsed.s), (plain, [0x80; 32]));
        assert_eq!(parsed.hash_type, 0x81);
        let short = EcdsaSignature::parse(&encoded(&[1], &plain, 1)).unwrap();
        assert_eq!(short.r[30..], [0, 1]);

        let good = encoded(&plain, &plain, 1);
        let padded = [&[0][..], &plain].concat();
        let refused = [
            encoded(&[], &plain, 1),
            encoded(&[0x80; 32], &plain, 1),
            encoded(&padded, &plain, 1),
            encoded(&plain, &padded, 1),
            encoded(&[1; 33], &plain, 1),
            encoded(&plain, &plain, 0),
            encoded(&plain, &plain, 4),
            encoded(&plain, &plain, 0x80),
            good[..good.len() - 1].to_vec(),
            [&good[..], &[1]].concat(),
            encoded(&[1; 20], &[1; 12], 1),
            Vec::new(),
        ];
        assert!(EcdsaSignature::parse(&good).is_some());
        for bytes in refused {
            assert_eq!(EcdsaSignature::parse(&bytes), None, "{bytes:02x?}");
        }
    }

    #[test]
    fn keys_have_the_length_that_their_first_byte_says() {
        assert!(matches!(key(&[2; 33]), Some(Key::Compressed(_))));
        assert!(matches!(key(&[3; 33]), Some(Key::Compressed(_))));
        assert!(matches!(key(&[4; 65]), Some(Key::Uncompressed(_))));
        for bytes in [&[2; 32][..], &[2; 65], &[4; 33], &[4; 66], &[6; 65], &[5; 33], &[]] {
            assert!(key(bytes).is_none());
        }
    }

    #[test]
    fn hash_type_0_of_taproot_is_not_written() {
        assert_eq!(schnorr(&[7; 64]), Some(([7; 64], 0)));
        let with = |hash_type| [&[7; 64][..], &[hash_type]].concat();
        assert_eq!(schnorr(&with(0x83)), Some(([7; 64], 0x83)));
        for bytes in [with(0), with(4), with(0x80), vec![7; 63], vec![7; 66]] {
            assert_eq!(schnorr(&bytes), None);
        }
    }
}
