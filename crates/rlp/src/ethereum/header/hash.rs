//! The hash of a block: of its header, but for what validators add to it.

use super::HeaderView;
use blockmill_hashes::{ManyKeccak, keccak256};

/// The encoding of the fields before the difficulty.
const HEAD: usize = 33 + 33 + 21 + 33 + 33 + 33 + 259;
/// Headers that are hashed, then looked at, while they are in the nearest caches.
const RUN: usize = 64;

/// The hash of the block with this encoded header, by which the next block names it.
///
/// That is the Keccak-256 of the encoding. Under IBFT 2.0 and QBFT, which a header shows (see
/// [`Header::bft`](super::Header::bft)), it is that of the header without round and seals. Bytes
/// that are no header are hashed as they are.
///
/// ```
/// use blockmill_rlp::Encode;
/// use blockmill_rlp::ethereum::{Header, block_hash};
///
/// let header = Header { number: 7, ..Header::default() };
/// assert_eq!(block_hash(&header.encode()), header.hash());
/// ```
#[must_use]
pub fn block_hash(header: &[u8]) -> [u8; 32] {
    match validators(header) {
        Some(view) => view.hash(),
        None => keccak256(header),
    }
}

/// Writes the [`block_hash`] of each header of a column to `out`; the column is as
/// [`ManyKeccak::keccak256_column`] has it.
///
/// # Panics
/// As `keccak256_column`.
pub fn block_hashes(hasher: &ManyKeccak, bytes: &[u8], ends: &[u32], out: &mut [[u8; 32]]) {
    assert_eq!(ends.len(), out.len(), "one place for each hash");
    let mut start = 0;
    let mut headers = [&[][..]; RUN];
    for (ends, hashes) in ends.chunks(RUN).zip(out.chunks_mut(RUN)) {
        for (header, end) in headers.iter_mut().zip(ends) {
            *header = &bytes[start..*end as usize];
            start = *end as usize;
        }
        let headers = &headers[..ends.len()];
        hasher.keccak256(headers, hashes);
        for (hash, header) in hashes.iter_mut().zip(headers) {
            if let Some(view) = validators(header) {
                *hash = view.hash();
            }
        }
    }
}

/// The header, if it may be one that validators seal: its difficulty is 1. One byte tells it of all
/// others.
#[inline]
fn validators(header: &[u8]) -> Option<HeaderView<'_>> {
    let length_of_length = header.first()?.checked_sub(0xf7)?;
    let difficulty = header.get(1 + usize::from(length_of_length) + HEAD)?;
    if *difficulty != 1 {
        return None;
    }
    HeaderView::decode(header).ok()
}
