//! The index of a decoded header: everything that decoding finds out, without the bytes.
//!
//! A view borrows from the encoding, so it cannot be stored next to it. The index can: together
//! with the same bytes it gives the view back, with no parsing and no checks of the encoding.

use super::{Header, HeaderView, LaterIndex};
use crate::{Encode, Error};
use alloc::vec::Vec;
use ruint::aliases::U256;

/// The size of a hash with its RLP prefix.
const HASH_ITEM: usize = 33;
/// The fields from parent hash to logs bloom, without the prefix of the first one.
const HEAD_LEN: usize = 32 + 33 + 21 + 33 + 33 + 33 + 259;
/// The mix hash, and the nonce with its prefix.
const SEAL_LEN: usize = 32 + 9;

/// The numbers of a header but for its difficulty, and the places of its other fields.
///
/// 112 bytes. The difficulty is stored apart: who links headers reads it for each, and the rest
/// for few. Places are offsets in an encoding of less than 4 GiB.
///
/// ```
/// use blockmill_rlp::Encode;
/// use blockmill_rlp::ethereum::{Header, HeaderIndex, HeaderView};
///
/// let bytes = Header { number: 7, ..Header::default() }.encode();
/// let view = HeaderView::decode(&bytes)?;
/// let (index, difficulty) = (HeaderIndex::new(&view), view.difficulty);
/// // the fields again, without decoding
/// assert_eq!(index.view(&bytes, difficulty).fields, view.fields);
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HeaderIndex {
    later: LaterIndex,
    number: u64,
    gas_limit: u64,
    gas_used: u64,
    timestamp: u64,
    extra_data: u32,
    extra_data_len: u32,
    mix_hash: u32,
    /// The place of the first field: its size is that of every other field before the difficulty.
    parent_hash: u8,
}

impl HeaderIndex {
    /// The index of a header whose fields were decoded from `header.raw`.
    #[inline]
    #[must_use]
    pub fn new(header: &HeaderView<'_>) -> Self {
        let place = |field: &[u8]| field.as_ptr().addr().wrapping_sub(header.raw.as_ptr().addr());
        debug_assert!(place(header.nonce) < header.raw.len(), "fields of another encoding");
        Self {
            later: LaterIndex::new(header),
            number: header.number,
            gas_limit: header.gas_limit,
            gas_used: header.gas_used,
            timestamp: header.timestamp,
            extra_data: place(header.extra_data) as u32,
            extra_data_len: header.extra_data.len() as u32,
            mix_hash: place(header.mix_hash) as u32,
            parent_hash: place(header.parent_hash) as u8,
        }
    }

    /// The block's number.
    #[inline]
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The header, with the encoding and the difficulty that the index was built from. Panics where
    /// `raw` is shorter than that encoding.
    #[inline]
    #[must_use]
    pub fn view<'a>(&self, raw: &'a [u8], difficulty: U256) -> HeaderView<'a> {
        let head: &[u8; HEAD_LEN] = array(&raw[usize::from(self.parent_hash)..]);
        let seal: &[u8; SEAL_LEN] = array(&raw[self.mix_hash as usize..]);
        let mut fields = Header {
            parent_hash: array(head),
            ommers_hash: array(&head[33..]),
            beneficiary: array(&head[66..]),
            state_root: array(&head[87..]),
            transactions_root: array(&head[120..]),
            receipts_root: array(&head[153..]),
            logs_bloom: array(&head[188..]),
            difficulty,
            number: self.number,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            timestamp: self.timestamp,
            extra_data: &raw[self.extra_data as usize..][..self.extra_data_len as usize],
            mix_hash: array(seal),
            nonce: array(&seal[33..]),
            ..Header::default()
        };
        self.later.give_back(&raw[self.mix_hash as usize + SEAL_LEN..], &mut fields);
        HeaderView { raw, fields }
    }
}

/// The later fields of an encoding, one after the other.
pub(super) struct Places<'a> {
    /// The encoding from the next field on.
    pub bytes: &'a [u8],
    /// Fields that are left.
    pub left: u8,
}

impl<'a> Places<'a> {
    #[inline]
    fn skip(&mut self, len: usize) {
        self.bytes = &self.bytes[len..];
        self.left -= 1;
    }

    #[inline]
    pub fn wei(&mut self, value: U256) -> U256 {
        self.skip(value.encoded_len());
        value
    }

    #[inline]
    pub fn number(&mut self, value: u64) -> u64 {
        self.skip(value.encoded_len());
        value
    }

    #[inline]
    pub fn hash(&mut self, (): ()) -> &'a [u8; 32] {
        let hash = array(&self.bytes[1..]);
        self.skip(HASH_ITEM);
        hash
    }
}

/// The first `N` bytes.
#[inline]
fn array<const N: usize>(bytes: &[u8]) -> &[u8; N] {
    &bytes[..N].as_chunks().0[0]
}

/// An encoded header that was decoded once.
///
/// ```
/// use blockmill_rlp::Encode;
/// use blockmill_rlp::ethereum::{EncodedHeader, Header};
///
/// let header = EncodedHeader::decode(Header { number: 7, ..Header::default() }.encode())?;
/// assert_eq!(header.view().number, 7);
/// # Ok::<(), blockmill_rlp::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EncodedHeader {
    raw: Vec<u8>,
    difficulty: U256,
    index: HeaderIndex,
}

impl EncodedHeader {
    /// Decodes one header that fills `raw` exactly.
    ///
    /// # Errors
    /// The first byte that is not the RLP of a header.
    pub fn decode(raw: Vec<u8>) -> Result<Self, Error> {
        let header = HeaderView::decode(&raw)?;
        let (difficulty, index) = (header.difficulty, HeaderIndex::new(&header));
        Ok(Self { raw, difficulty, index })
    }

    /// A copy of an encoding with the difficulty and the index of its header.
    #[must_use]
    pub fn copied(raw: &[u8], difficulty: U256, index: HeaderIndex) -> Self {
        Self { raw: raw.to_vec(), difficulty, index }
    }

    /// Its fields.
    #[must_use]
    pub fn view(&self) -> HeaderView<'_> {
        self.index.view(&self.raw, self.difficulty)
    }

    /// Its encoding.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethereum::OwnedHeader;
    use alloc::vec;

    /// A header with so many optional fields; all its bytes differ from their neighbours.
    fn header(optional: usize, extra_data: usize, size: u32) -> OwnedHeader {
        let mut next = 0u8;
        let mut fill = |bytes: &mut [u8]| {
            for byte in bytes {
                next = next.wrapping_mul(5).wrapping_add(3);
                *byte = next;
            }
        };
        let mut header = OwnedHeader { extra_data: vec![0; extra_data], ..OwnedHeader::default() };
        let mut hashes = [[0; 32]; 4];
        hashes.iter_mut().for_each(|hash| fill(hash));
        fill(&mut header.parent_hash);
        fill(&mut header.ommers_hash);
        fill(&mut header.beneficiary);
        fill(&mut header.state_root);
        fill(&mut header.transactions_root);
        fill(&mut header.receipts_root);
        fill(&mut header.logs_bloom[..]);
        fill(&mut header.extra_data);
        fill(&mut header.mix_hash);
        fill(&mut header.nonce);
        let number = |bytes: u32| u64::MAX.checked_shr(64 - 8 * bytes.min(8)).unwrap_or(0);
        header.difficulty = U256::from(number(size)) << (8 * size as usize);
        (header.number, header.gas_limit) = (number(size), number(size / 2));
        (header.gas_used, header.timestamp) = (number(size / 3), number(1));
        let has = |field: usize| optional > field;
        header.base_fee = has(0).then(|| U256::from(number(size)) << 8);
        header.withdrawals_root = has(1).then_some(hashes[0]);
        header.blob_gas_used = has(2).then_some(number(size));
        header.excess_blob_gas = has(3).then_some(number(size / 4));
        header.parent_beacon_root = has(4).then_some(hashes[1]);
        header.requests_hash = has(5).then_some(hashes[2]);
        header.block_access_list_hash = has(6).then_some(hashes[3]);
        header.slot_number = has(7).then_some(number(size));
        header
    }

    #[test]
    fn an_index_gives_back_every_field_without_decoding() {
        for optional in 0..=8 {
            for extra_data in [0, 1, 2, 32, 55, 56, 255, 256, 65_536] {
                for size in 0..=8 {
                    let header = header(optional, extra_data, size);
                    let mut bytes = vec![0xee; 3];
                    bytes.extend(header.encode());
                    let decoded = HeaderView::decode(&bytes[3..]).unwrap();
                    let index = HeaderIndex::new(&decoded);
                    let copy = bytes[3..].to_vec();
                    let found = index.view(&copy, decoded.difficulty);
                    assert_eq!(found.fields, decoded.fields, "{optional} {extra_data} {size}");
                    assert_eq!(found.to_owned(), header);
                    let encoded = EncodedHeader::copied(&copy, decoded.difficulty, index);
                    assert_eq!(encoded.view().fields, decoded.fields);
                    assert_eq!(encoded.raw(), decoded.raw);
                }
            }
        }
    }

    #[test]
    fn an_index_is_small() {
        assert_eq!(size_of::<HeaderIndex>(), 112);
    }

    #[test]
    fn an_encoded_header_is_a_whole_one() {
        let raw = header(8, 32, 8).encode();
        assert!(EncodedHeader::decode(raw[..raw.len() - 1].to_vec()).is_err());
        assert_eq!(EncodedHeader::decode(raw.clone()).unwrap().view().raw, raw);
    }
}
