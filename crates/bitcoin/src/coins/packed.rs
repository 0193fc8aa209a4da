//! The packed form of a coin: about 28 bytes for a standard one.
//!
//! ```text
//! 1 byte    script form (3 bits), coinbase (1 bit), decimal zeros of the amount (4 bits)
//! number    amount without these zeros
//! number    height
//! rest      variable part of the form: 20 or 32 bytes of a hash, 33 or 65 of a key, or the script
//! ```
//!
//! A number has seven bits in each byte, least significant first. Amounts often end with zeros (an
//! idea of Bitcoin Core, `compressor.h`). Keys are not compressed, so no curve arithmetic is
//! needed.

use crate::error::Error;
use crate::types::{Amount, Coin};

/// Forms of scripts.
const RAW: u8 = 0;
const PUBKEY_HASH: u8 = 1;
const SCRIPT_HASH: u8 = 2;
const PUBKEY: u8 = 3;
const WITNESS_PUBKEY_HASH: u8 = 4;
const WITNESS_SCRIPT_HASH: u8 = 5;
const TAPROOT: u8 = 6;

/// The constant parts before and after the variable part of a form, if that can have length `len`.
fn frame(form: u8, len: usize) -> Option<(&'static [u8], &'static [u8])> {
    Some(match (form, len) {
        (RAW, _) => (&[], &[]),
        (PUBKEY_HASH, 20) => (&[0x76, 0xa9, 20], &[0x88, 0xac]),
        (SCRIPT_HASH, 20) => (&[0xa9, 20], &[0x87]),
        (PUBKEY, 33) => (&[33], &[0xac]),
        (PUBKEY, 65) => (&[65], &[0xac]),
        (WITNESS_PUBKEY_HASH, 20) => (&[0, 20], &[]),
        (WITNESS_SCRIPT_HASH, 32) => (&[0, 32], &[]),
        (TAPROOT, 32) => (&[0x51, 32], &[]),
        _ => return None,
    })
}

/// A script as its form and the variable part of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedScript<'a> {
    before: &'static [u8],
    open: &'a [u8],
    after: &'static [u8],
}

impl<'a> PackedScript<'a> {
    /// Bytes of the script.
    #[must_use]
    pub fn len(&self) -> usize {
        self.before.len() + self.open.len() + self.after.len()
    }

    /// Returns whether the script is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parts of the script, in order.
    #[must_use]
    pub fn parts(&self) -> [&'a [u8]; 3] {
        [self.before, self.open, self.after]
    }

    /// Appends the script to `out`.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.parts().iter().for_each(|part| out.extend_from_slice(part));
    }

    /// The form of a script. Its length determines one candidate.
    fn form(script: &[u8]) -> (u8, &[u8]) {
        let (form, len) = match (script.len(), script.first()) {
            (25, _) => (PUBKEY_HASH, 20),
            (23, _) => (SCRIPT_HASH, 20),
            (22, _) => (WITNESS_PUBKEY_HASH, 20),
            (34, Some(0)) => (WITNESS_SCRIPT_HASH, 32),
            (34, _) => (TAPROOT, 32),
            (35, _) => (PUBKEY, 33),
            (67, _) => (PUBKEY, 65),
            _ => return (RAW, script),
        };
        let open = frame(form, len)
            .and_then(|(before, after)| script.strip_prefix(before)?.strip_suffix(after))
            .filter(|open| open.len() == len);
        open.map_or((RAW, script), |open| (form, open))
    }
}

/// A packed coin; the documentation of the module specifies its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedCoin<'a> {
    /// Height of the block that created it.
    pub height: u32,
    /// Whether a coinbase created it.
    pub coinbase: bool,
    /// Its value.
    pub value: Amount,
    /// The output script.
    pub script: PackedScript<'a>,
}

impl<'a> PackedCoin<'a> {
    /// Appends the packed form of a coin to `out`. It is unique.
    pub fn pack(coin: &Coin, out: &mut Vec<u8>) {
        let (form, open) = PackedScript::form(coin.script);
        let (mut amount, mut zeros) = (coin.value.to_sat(), 0u8);
        while amount != 0 && amount % 10 == 0 && zeros < 15 {
            amount /= 10;
            zeros += 1;
        }
        out.push(form << 5 | u8::from(coin.coinbase) << 4 | zeros);
        write_number(out, amount);
        write_number(out, u64::from(coin.height));
        out.extend_from_slice(open);
    }

    /// Decodes a packed coin. `None` if [`PackedCoin::pack`] cannot have written the bytes.
    #[must_use]
    pub fn unpack(bytes: &'a [u8]) -> Option<PackedCoin<'a>> {
        let (first, mut rest) = bytes.split_first()?;
        let amount = read_number(&mut rest)?;
        let value = Amount::from_sat(amount.checked_mul(10u64.pow(u32::from(first & 15)))?);
        let height = u32::try_from(read_number(&mut rest)?).ok()?;
        let (before, after) = frame(first >> 5, rest.len())?;
        let script = PackedScript { before, open: rest, after };
        Some(PackedCoin { height, coinbase: first & 16 != 0, value, script })
    }

    /// Decodes a packed coin of a store, which is corrupt if that fails.
    pub(crate) fn stored(bytes: &'a [u8]) -> Result<PackedCoin<'a>, Error> {
        let found = bytes.len();
        let corruption = || Error::Corrupt(format!("expected a coin, found {found} other bytes"));
        Self::unpack(bytes).ok_or_else(corruption)
    }

    /// The coin, with its script in the buffer `script`.
    pub fn coin<'s>(&self, script: &'s mut Vec<u8>) -> Coin<'s> {
        script.clear();
        self.script.write_to(script);
        Coin { height: self.height, coinbase: self.coinbase, value: self.value, script }
    }
}

fn write_number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        n |= bits << shift;
        if *byte < 0x80 {
            return Some(n);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(coin: &Coin) -> usize {
        let mut packed = Vec::new();
        PackedCoin::pack(coin, &mut packed);
        let found = PackedCoin::unpack(&packed).unwrap();
        assert_eq!(found.script.len(), coin.script.len());
        assert_eq!(found.coin(&mut vec![1, 2, 3]), *coin);
        packed.len()
    }

    #[test]
    fn every_form_comes_back_and_near_misses_stay_raw() {
        let forms = [(1, 20), (2, 20), (3, 33), (3, 65), (4, 20), (5, 32), (6, 32)];
        for (form, len) in forms {
            let (before, after) = frame(form, len).unwrap();
            let open: Vec<u8> = (0..len as u8).collect();
            let script = [before, &open, after].concat();
            let coin = Coin {
                height: 840_000,
                coinbase: true,
                value: Amount::from_sat(123_456_789),
                script: &script,
            };
            assert_eq!(there_and_back(&coin), 1 + 4 + 3 + len);
            for at in (0..before.len()).chain(before.len() + len..script.len()) {
                let mut other = script.clone();
                other[at] ^= 0x40;
                assert_eq!(there_and_back(&Coin { script: &other, ..coin }), 8 + script.len());
            }
        }
        for script in [&[][..], &[0x51], &[7; 10_000]] {
            there_and_back(&Coin {
                height: u32::MAX,
                coinbase: false,
                value: Amount::from_sat(0),
                script,
            });
        }
    }

    #[test]
    fn every_amount_comes_back_and_round_ones_are_short() {
        let powers = (0..20).map(|n| 10u64.pow(n)).flat_map(|p| [p - 1, p, p + 1]);
        for value in powers.chain([u64::MAX, 21_000_000 * 100_000_000, 50 * 100_000_000]) {
            there_and_back(&Coin {
                height: 0,
                coinbase: true,
                value: Amount::from_sat(value),
                script: &[],
            });
        }
        let coin =
            Coin { height: 1, coinbase: true, value: Amount::from_sat(5_000_000_000), script: &[] };
        assert_eq!(there_and_back(&coin), 3);
    }

    #[test]
    fn bytes_that_are_no_coin_are_refused() {
        let endless = [0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0];
        let other: [&[u8]; 8] = [
            &[],
            &[0],
            &[0, 1],
            &[0, 0x80],
            &[0x20, 1, 1, 9],
            &[0xe0, 1, 1],
            &[15, 255, 255, 255, 255, 255, 255, 255, 255, 127, 1],
            &endless,
        ];
        other.iter().for_each(|bytes| assert_eq!(PackedCoin::unpack(bytes), None, "{bytes:?}"));
        assert_eq!(PackedCoin::unpack(&[0, 1, 255, 255, 255, 255, 127]), None, "height");
    }
}
