//! Signed permissions to let an account run the code of another one (EIP-7702).

use crate::{Decode, Encode, Error, Reader, Write, u64_len, u256_len};
use ruint::aliases::U256;

/// Bytes of an encoded address.
const ADDRESS: usize = 21;

/// A delegation of a set-code transaction. One with a wrong signature is ignored, and the
/// transaction is valid nevertheless.
///
/// ```
/// use blockmill_rlp::ethereum::Authorization;
/// use blockmill_rlp::{Decode, Encode, U256};
///
/// let (chain_id, r, s) = (U256::ONE, U256::from(2), U256::from(3));
/// let delegation = Authorization { chain_id, address: &[1; 20], nonce: 0, y_parity: 1, r, s };
/// let bytes = delegation.encode();
/// assert_eq!(Authorization::decode(&bytes), Ok(delegation));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authorization<'a> {
    /// Chain for which it is signed; 0 for any.
    pub chain_id: U256,
    /// The account that has the code to run.
    pub address: &'a [u8; 20],
    /// Number of transactions that the signer sent before.
    pub nonce: u64,
    /// Parity of the signature's point: 8 bits, 0 or 1 in a signature that can be right.
    pub y_parity: u8,
    /// First half of the signature.
    pub r: U256,
    /// Second half of the signature.
    pub s: U256,
}

impl Encode for Authorization<'_> {
    const LISTS: usize = 0;

    #[inline(always)]
    fn write<W: Write>(&self, out: &mut W) {
        let parity = u64::from(self.y_parity);
        let numbers = u64_len(self.nonce) + u64_len(parity);
        let wide = u256_len(&self.chain_id) + u256_len(&self.r) + u256_len(&self.s);
        out.list_of(ADDRESS + numbers + wide, |out| {
            out.u256(&self.chain_id);
            out.fixed(self.address);
            out.u64(self.nonce);
            out.u64(parity);
            out.u256(&self.r);
            out.u256(&self.s);
        });
    }
}

impl<'a> Decode<'a> for Authorization<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut list = reader.list()?;
        let authorization = Self {
            chain_id: list.u256()?,
            address: list.fixed()?,
            nonce: list.u64()?,
            y_parity: list.digits(1)?.first().copied().unwrap_or(0),
            r: list.u256()?,
            s: list.u256()?,
        };
        list.finish()?;
        Ok(authorization)
    }
}
