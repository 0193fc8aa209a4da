//! The index of a decoded header: everything that decoding finds out, without the bytes.
//!
//! A view borrows from the encoding, so it cannot be stored next to it. The index can: together
//! with the same bytes it gives the view back, with no parsing and no checks of the encoding.

use super::{Fields, HeaderView};
use crate::U256;
use blockmill_rlp::Error;

/// The size of a hash with its RLP prefix.
const HASH_ITEM: u32 = 33;
/// The fields from parent hash to logs bloom, without the prefix of the first one.
const HEAD_LEN: usize = 32 + 33 + 21 + 33 + 33 + 33 + 259;

/// The numbers of a header but for its difficulty, and the places of its other fields.
///
/// 112 bytes. The difficulty is stored apart: the link reads it for every header, and the rest
/// for few. Places are offsets in an encoding of less than 4 GiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderIndex {
    base_fee: U256,
    number: u64,
    gas_limit: u64,
    gas_used: u64,
    timestamp: u64,
    blob_gas_used: u64,
    excess_blob_gas: u64,
    slot_number: u64,
    extra_data: u32,
    extra_data_len: u32,
    mix_hash: u32,
    withdrawals_root: u32,
    parent_beacon_root: u32,
    /// The place of the first field: its size is that of every other field before the difficulty.
    parent_hash: u8,
    /// How many of the optional fields are present; none is without all those before it.
    optional: u8,
}

impl HeaderIndex {
    /// The index of a header whose fields were decoded from `header.raw`.
    #[inline]
    pub fn new(header: &HeaderView<'_>) -> Self {
        let place = |field: &[u8]| field.as_ptr().addr().wrapping_sub(header.raw.as_ptr().addr());
        debug_assert!(place(header.nonce) < header.raw.len(), "fields of another encoding");
        let hash = |field: Option<&[u8; 32]>| field.map_or(0, |field| place(field) as u32);
        // none is present without those before it
        let optional = match header.base_fee {
            None => 0,
            Some(_) => count_optional(header),
        };
        Self {
            base_fee: header.base_fee.unwrap_or_default(),
            number: header.number,
            gas_limit: header.gas_limit,
            gas_used: header.gas_used,
            timestamp: header.timestamp,
            blob_gas_used: header.blob_gas_used.unwrap_or_default(),
            excess_blob_gas: header.excess_blob_gas.unwrap_or_default(),
            slot_number: header.slot_number.unwrap_or_default(),
            extra_data: place(header.extra_data) as u32,
            extra_data_len: header.extra_data.len() as u32,
            mix_hash: place(header.mix_hash) as u32,
            withdrawals_root: hash(header.withdrawals_root),
            parent_beacon_root: hash(header.parent_beacon_root),
            parent_hash: place(header.parent_hash) as u8,
            optional,
        }
    }

    /// The block's number.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The header, with the encoding and the difficulty that the index was built from. Panics where
    /// `raw` is shorter than that encoding.
    #[inline]
    pub fn view<'a>(&self, raw: &'a [u8], difficulty: U256) -> HeaderView<'a> {
        let head: &[u8; HEAD_LEN] = array(raw, u32::from(self.parent_hash));
        let has = |field: u8| self.optional > field;
        let hash = |field: u8, place: u32| has(field).then(|| array(raw, place));
        let fields = Fields {
            parent_hash: array(head, 0),
            ommers_hash: array(head, 33),
            beneficiary: array(head, 66),
            state_root: array(head, 87),
            transactions_root: array(head, 120),
            receipts_root: array(head, 153),
            logs_bloom: array(head, 188),
            difficulty,
            number: self.number,
            gas_limit: self.gas_limit,
            gas_used: self.gas_used,
            timestamp: self.timestamp,
            extra_data: &raw[self.extra_data as usize..][..self.extra_data_len as usize],
            mix_hash: array(raw, self.mix_hash),
            nonce: array(raw, self.mix_hash + HASH_ITEM),
            base_fee: has(0).then_some(self.base_fee),
            withdrawals_root: hash(1, self.withdrawals_root),
            blob_gas_used: has(2).then_some(self.blob_gas_used),
            excess_blob_gas: has(3).then_some(self.excess_blob_gas),
            parent_beacon_root: hash(4, self.parent_beacon_root),
            requests_hash: hash(5, self.parent_beacon_root + HASH_ITEM),
            block_access_list_hash: hash(6, self.parent_beacon_root + 2 * HASH_ITEM),
            slot_number: has(7).then_some(self.slot_number),
        };
        HeaderView { raw, fields }
    }
}

/// How many optional fields a header has.
fn count_optional(header: &HeaderView<'_>) -> u8 {
    let fields = [
        header.base_fee.is_some(),
        header.withdrawals_root.is_some(),
        header.blob_gas_used.is_some(),
        header.excess_blob_gas.is_some(),
        header.parent_beacon_root.is_some(),
        header.requests_hash.is_some(),
        header.block_access_list_hash.is_some(),
        header.slot_number.is_some(),
    ];
    fields.map(u8::from).iter().sum()
}

/// The `N` bytes at `place`.
#[inline]
fn array<const N: usize>(bytes: &[u8], place: u32) -> &[u8; N] {
    &bytes[place as usize..][..N].as_chunks().0[0]
}

/// An encoded header that was decoded once.
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
    pub(crate) fn copied(raw: &[u8], difficulty: U256, index: HeaderIndex) -> Self {
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
    use crate::header::Header;
    use blockmill_rlp::Encode;

    /// A header with so many optional fields; all its bytes differ from their neighbours.
    fn header(optional: usize, extra_data: usize, size: u32) -> Header {
        let mut next = 0u8;
        let mut fill = |bytes: &mut [u8]| {
            for byte in bytes {
                next = next.wrapping_mul(5).wrapping_add(3);
                *byte = next;
            }
        };
        let mut header = Header { extra_data: vec![0; extra_data], ..Header::default() };
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
