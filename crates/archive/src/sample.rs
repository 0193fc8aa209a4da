//! Small generated chains for tests.

use std::path::PathBuf;

use blockmill_rlp::{Encode, RawList};
use blockmill_testkit::Random;

use crate::{Archive, Chunk, ChunkLimit, Error, Packed, ReceiptEncoding, Want};

/// Bytes that do not compress, reproducible from a seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    Random::new(seed).bytes(len)
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    RawList(&[&items.concat()]).encode()
}

fn bytes(content: &[u8]) -> Vec<u8> {
    content.encode()
}

fn number(value: u64) -> Vec<u8> {
    value.encode()
}

/// A header of difficulty 1,000 with `extra` bytes that do not compress after its number.
pub(crate) fn header(n: u64, extra: usize) -> Vec<u8> {
    let mut fields: Vec<_> = (0..6).map(|i| bytes(&noise(n * 8 + i, 32))).collect();
    fields.push(bytes(&[0; 256]));
    fields.extend([number(1000), number(n), bytes(&noise(n, extra))]);
    list(&fields)
}

/// `count` blocks from number `first` on, each with one generated transaction of `body` bytes and
/// one receipt. Difficulty is 1,000 a block, total difficulty 1,000 for block 0.
pub(crate) fn chain(first: u64, count: u64, body: usize) -> Chunk {
    let mut chunk = Chunk::new();
    chunk.first = Some(first);
    chunk.receipt_encoding = ReceiptEncoding::Consensus;
    for n in first..first + count {
        chunk.headers.push(&header(n, 0));
        chunk.bodies.push(&list(&[list(&[bytes(&noise(n, body))]), list(&[])]));
        chunk.receipts.push(&list(&[list(&[number(1), number(21_000)])]));
        let mut total = [0; 32];
        total[24..].copy_from_slice(&(1000 * (n + 1)).to_be_bytes());
        chunk.total_difficulties.push(total);
    }
    chunk
}

/// The chunks of an archive, unpacked.
pub(crate) fn read(files: &[PathBuf], want: Want, limit: ChunkLimit) -> Result<Vec<Chunk>, Error> {
    let mut reader = Archive::open(files)?.reader(want, limit, 0..=u64::MAX)?;
    let (mut packed, mut chunks) = (Packed::new(), vec![]);
    while reader.read(&mut packed)? {
        let mut chunk = Chunk::new();
        packed.unpack(&mut chunk)?;
        chunks.push(chunk);
    }
    Ok(chunks)
}
