//! A header together with its encoding.

use super::{Header, OwnedHeader};
use crate::{Decode, Encode, Error};
use core::ops::Deref;

/// A header decoded in place, and its encoding.
///
/// ```
/// use blockmill_rlp::Encode;
/// use blockmill_rlp::ethereum::{Header, HeaderView};
///
/// let bytes = Header { gas_limit: 30_000_000, ..Header::default() }.encode();
/// let view = HeaderView::decode(&bytes)?;
/// assert_eq!(view.gas_limit, 30_000_000);
/// assert_eq!(view.hash(), blockmill_hashes::keccak256(&bytes));
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HeaderView<'a> {
    /// The whole encoding.
    pub raw: &'a [u8],
    /// The fields, which the view gives itself too.
    pub fields: Header<'a>,
}

impl<'a> Deref for HeaderView<'a> {
    type Target = Header<'a>;

    #[inline]
    fn deref(&self) -> &Header<'a> {
        &self.fields
    }
}

impl<'a> HeaderView<'a> {
    /// Decodes one header that fills `raw` exactly.
    ///
    /// # Errors
    /// The first byte that is not the RLP of a header.
    #[inline]
    pub fn decode(raw: &'a [u8]) -> Result<Self, Error> {
        Ok(Self { raw, fields: Header::decode(raw)? })
    }

    /// The block hash, as [`block_hash`](super::block_hash) has it.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        match self.bft() {
            None => blockmill_hashes::keccak256(self.raw),
            Some(extra_data) => self.with_extra_data(&extra_data.for_hash()),
        }
    }

    /// What the committed seals of a block sign; `None` if validators do not seal it.
    #[must_use]
    pub fn bft_seal_hash(&self) -> Option<[u8; 32]> {
        Some(self.with_extra_data(&self.bft()?.for_seals()))
    }

    /// The hash of the header with other extra data.
    fn with_extra_data(&self, extra_data: &[u8]) -> [u8; 32] {
        Header { extra_data, ..self.fields }.hash()
    }

    /// What the ethash seal signs: the hash of the header without mix hash and nonce.
    #[must_use]
    pub fn seal_hash(&self) -> [u8; 32] {
        self.fields.unsealed().hash()
    }

    /// The nonce as a number.
    #[must_use]
    pub fn nonce(&self) -> u64 {
        u64::from_be_bytes(*self.nonce)
    }

    /// An owned copy.
    #[must_use]
    pub fn to_owned(&self) -> OwnedHeader {
        OwnedHeader::from(&self.fields)
    }
}

impl OwnedHeader {
    /// Borrows the fields as a view; `raw` is the encoding, as `encode` returns it.
    #[must_use]
    pub fn view<'a>(&'a self, raw: &'a [u8]) -> HeaderView<'a> {
        HeaderView { raw, fields: self.fields() }
    }
}
