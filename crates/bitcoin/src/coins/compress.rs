//! Core's compact encoding of coins, in undo data and chainstates.
//!
//! Numbers are VARINTs: base 128, most significant digit first, the high bit set in all bytes
//! except the last, and one subtracted from each digit except the last, so that each number has one
//! encoding. Amounts are stored without trailing decimal zeros, and six standard scripts by their
//! hash or x coordinate only. `docs/formats/core-datadir.md` specifies the bytes.

use crate::coins::MAX_SCRIPT_BYTES;
use crate::types::{Amount, Coin};
pub use blockmill_verdict::Malformed;
use blockmill_verdict::{split_array, split_bytes};

/// Size of the longest script that is expanded when read: an uncompressed public key and its check.
pub(crate) const WRITTEN_SCRIPT: usize = 67;

/// Sizes below this number denote a standard script instead.
const KINDS: u64 = 6;

const DUP: u8 = 0x76;
const EQUAL: u8 = 0x87;
const EQUALVERIFY: u8 = 0x88;
const HASH160: u8 = 0xa9;
const CHECKSIG: u8 = 0xac;

/// Appends a VARINT.
#[inline]
pub fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    // ten digits of seven bits, from the end
    let mut digits = [0; 10];
    let mut first = digits.len() - 1;
    digits[first] = (number & 0x7f) as u8;
    while number > 0x7f {
        number = (number >> 7) - 1;
        first -= 1;
        digits[first] = (number & 0x7f) as u8 | 0x80;
    }
    out.extend_from_slice(&digits[first..]);
}

/// Reads a VARINT of at most `limit` from the front.
#[inline]
pub fn read_varint(from: &mut &[u8], what: &'static str, limit: u64) -> Result<u64, Malformed> {
    let mut number = 0u64;
    loop {
        let [byte] = *split_array(from, what)?;
        if number > u64::MAX >> 7 {
            return Err(Malformed::TooLarge { what, limit, found: u64::MAX });
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
        number = match number.checked_add(1) {
            Some(number) => number,
            None => return Err(Malformed::TooLarge { what, limit, found: u64::MAX }),
        };
    }
    match number <= limit {
        true => Ok(number),
        false => Err(Malformed::TooLarge { what, limit, found: number }),
    }
}

/// Compresses an amount. Amounts above [`Amount::MAX`] may decompress to other amounts.
#[inline]
#[must_use]
pub fn compress_amount(amount: Amount) -> u64 {
    if amount == Amount::ZERO {
        return 0;
    }
    let (mut rest, mut zeros) = (amount.to_sat(), 0);
    while zeros < 9 && rest.is_multiple_of(10) {
        rest /= 10;
        zeros += 1;
    }
    if zeros == 9 {
        return (rest - 1).wrapping_mul(10).wrapping_add(10);
    }
    let (rest, last) = (rest / 10, rest % 10);
    rest.wrapping_mul(9).wrapping_add(last - 1).wrapping_mul(10).wrapping_add(1 + zeros)
}

/// Reverses [`compress_amount`]. `None` above [`Amount::MAX`].
#[inline]
#[must_use]
pub fn expand_amount(compressed: u64) -> Option<Amount> {
    let Some(rest) = compressed.checked_sub(1) else { return Some(Amount::ZERO) };
    let (rest, zeros) = (rest / 10, (rest % 10) as u32);
    let digits = match zeros {
        9 => rest + 1,
        _ => (rest / 9).checked_mul(10)? + rest % 9 + 1,
    };
    let amount = digits.checked_mul(10u64.pow(zeros)).map(Amount::from_sat)?;
    amount.is_in_range().then_some(amount)
}

/// Appends a script, in its short form if there is one.
#[inline]
pub fn write_script(out: &mut Vec<u8>, script: &[u8]) {
    match script {
        [DUP, HASH160, 20, hash @ .., EQUALVERIFY, CHECKSIG] if hash.len() == 20 => {
            out.push(0);
            out.extend_from_slice(hash);
        }
        [HASH160, 20, hash @ .., EQUAL] if hash.len() == 20 => {
            out.push(1);
            out.extend_from_slice(hash);
        }
        [33, key @ .., CHECKSIG] if key.len() == 33 && matches!(key[0], 2 | 3) => {
            out.extend_from_slice(key);
        }
        [65, key @ .., CHECKSIG] if is_key(key) => {
            out.push(4 | key[64] & 1);
            out.extend_from_slice(&key[1..33]);
        }
        _ => {
            write_varint(out, script.len() as u64 + KINDS);
            out.extend_from_slice(script);
        }
    }
}

/// Returns whether the key is on the curve, so that x and the parity of y determine it.
fn is_key(key: &[u8]) -> bool {
    key.try_into().is_ok_and(blockmill_signatures::is_public_key)
}

/// Reads a script from the front. Short forms are expanded into `written`.
#[inline]
pub(crate) fn read_script<'a, 'bytes: 'a>(
    from: &mut &'bytes [u8],
    written: &'a mut [u8; WRITTEN_SCRIPT],
) -> Result<&'a [u8], Malformed> {
    let what = "the size of a script";
    let kind = read_varint(from, what, MAX_SCRIPT_BYTES as u64 + KINDS)?;
    if kind >= KINDS {
        return split_bytes(from, kind - KINDS, "a script");
    }
    let what = "a compressed script";
    let length = match kind {
        0 => {
            written[..3].copy_from_slice(&[DUP, HASH160, 20]);
            written[3..23].copy_from_slice(split_array::<20>(from, what)?);
            written[23..25].copy_from_slice(&[EQUALVERIFY, CHECKSIG]);
            25
        }
        1 => {
            written[..2].copy_from_slice(&[HASH160, 20]);
            written[2..22].copy_from_slice(split_array::<20>(from, what)?);
            written[22] = EQUAL;
            23
        }
        2 | 3 => {
            written[..2].copy_from_slice(&[33, kind as u8]);
            written[2..34].copy_from_slice(split_array::<32>(from, what)?);
            written[34] = CHECKSIG;
            35
        }
        _ => {
            let x = split_array::<32>(from, what)?;
            let key = blockmill_signatures::uncompress_public_key(x, kind == 5);
            written[0] = 65;
            written[1..66].copy_from_slice(&key.ok_or(Malformed::NotOnCurve)?);
            written[66] = CHECKSIG;
            WRITTEN_SCRIPT
        }
    };
    Ok(&written[..length])
}

/// Appends height and coinbase flag of a coin as one number.
#[inline]
pub(crate) fn write_origin(out: &mut Vec<u8>, coin: &Coin) {
    write_varint(out, u64::from(coin.height) << 1 | u64::from(coin.coinbase));
}

/// Reads height and coinbase flag from the front.
#[inline]
pub(crate) fn read_origin(from: &mut &[u8]) -> Result<(u32, bool), Malformed> {
    let code = read_varint(from, "the height of a coin", u32::MAX.into())? as u32;
    Ok((code >> 1, code & 1 == 1))
}

/// Appends a coin in the encoding of the chainstate: height and coinbase flag, amount, script.
#[inline]
pub fn write_coin(out: &mut Vec<u8>, coin: &Coin) {
    write_origin(out, coin);
    write_output(out, coin);
}

/// Appends amount and script.
#[inline]
pub(crate) fn write_output(out: &mut Vec<u8>, coin: &Coin) {
    write_varint(out, compress_amount(coin.value));
    write_script(out, coin.script);
}

/// Reads coins that [`write_coin`] or Core wrote. Owns the buffer for expanded scripts.
#[derive(Clone, Debug)]
pub struct CoinReader {
    written: [u8; WRITTEN_SCRIPT],
}

impl Default for CoinReader {
    fn default() -> Self {
        CoinReader { written: [0; WRITTEN_SCRIPT] }
    }
}

impl CoinReader {
    /// Reads the complete value of a coin in the chainstate.
    pub fn read<'a>(&'a mut self, mut value: &'a [u8]) -> Result<Coin<'a>, Malformed> {
        let (height, coinbase) = read_origin(&mut value)?;
        let coin = self.output(&mut value, height, coinbase)?;
        match value.len() as u64 {
            0 => Ok(coin),
            bytes => Err(Malformed::Trailing { what: "a coin", bytes }),
        }
    }

    /// Reads amount and script from the front.
    #[inline]
    pub(crate) fn output<'a, 'bytes: 'a>(
        &'a mut self,
        from: &mut &'bytes [u8],
        height: u32,
        coinbase: bool,
    ) -> Result<Coin<'a>, Malformed> {
        let what = "the amount of a coin";
        let compressed = read_varint(from, what, u64::MAX)?;
        let too_large = Malformed::TooLarge { what, limit: Amount::MAX.to_sat(), found: u64::MAX };
        let value = expand_amount(compressed).ok_or(too_large)?;
        Ok(Coin { height, coinbase, value, script: read_script(from, &mut self.written)? })
    }
}
