//! Small generated chains for the tests, in the shape of real ones.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use blockmill_archive::{Archive, Chunk, ChunkLimit, Column, Error, Packed, Want};
use blockmill_rlp::{Encode, OnePass, RawList, Write as _};
use flate2::Compression;
use flate2::write::GzEncoder;

/// `payload` as a list.
pub fn list(payload: &[u8]) -> Vec<u8> {
    RawList(&[payload]).encode()
}

/// A header whose fields have the sizes of genuine ones; `number` varies its content.
pub fn header(number: u64) -> Vec<u8> {
    let fill = number as u8;
    let mut header = OnePass::default();
    header.list(|out| {
        for size in [32, 32, 20, 32, 32, 32, 256] {
            out.bytes(&vec![fill; size]);
        }
        for value in [0x20000 + number, number, 5000, 0, 1_500_000_000 + number] {
            out.u64(value);
        }
        out.bytes(&vec![1; (number % 33) as usize]);
        out.fixed(&[fill; 32]);
        out.fixed(&[fill; 8]);
    });
    header.into_bytes()
}

/// A body of `number % 5` legacy transactions, no ommers, and withdrawals at even numbers.
pub fn body(number: u64) -> Vec<u8> {
    let transactions = list(&list(&[7; 60]).repeat((number % 5) as usize));
    let later: &[u8] = if number.is_multiple_of(2) { &[0xc0, 0xc0] } else { &[0xc0] };
    list(&[&transactions, later].concat())
}

/// A block of an export.
pub fn block(number: u64) -> Vec<u8> {
    let body = body(number);
    let items = blockmill_rlp::Reader::new(&body).list().unwrap();
    list(&[&header(number), items.rest()].concat())
}

pub fn headers(range: RangeInclusive<u64>) -> Vec<u8> {
    range.flat_map(header).collect()
}

pub fn blocks(range: RangeInclusive<u64>) -> Vec<u8> {
    range.flat_map(block).collect()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

pub const BODIES: Want = Want { bodies: true, receipts: false };

/// Reads to the end in chunks; what came before an error, and the error.
pub fn read_chunks(
    archive: &Archive,
    limit: ChunkLimit,
    range: RangeInclusive<u64>,
) -> (Vec<Chunk>, Result<(), Error>) {
    let mut chunks = vec![];
    let result = (|| {
        let mut reader = archive.reader(BODIES, limit, range)?;
        let mut packed = Packed::new();
        while reader.read(&mut packed)? {
            assert!(packed.blocks() > 0 && packed.blocks() <= limit.blocks.max(1));
            let mut chunk = Chunk::new();
            packed.unpack(&mut chunk)?;
            chunks.push(chunk);
        }
        Ok(())
    })();
    (chunks, result)
}

/// Every header, every body.
pub fn read(paths: &[PathBuf], range: RangeInclusive<u64>) -> Result<(Column, Column), Error> {
    let archive = Archive::open(paths)?;
    let limit = ChunkLimit { blocks: 3, bytes: 4096 };
    let (chunks, result) = read_chunks(&archive, limit, range);
    result?;
    let (mut headers, mut bodies) = (Column::new(), Column::new());
    for chunk in chunks {
        chunk.headers.iter().for_each(|header| headers.push(header));
        chunk.bodies.iter().for_each(|body| bodies.push(body));
    }
    Ok((headers, bodies))
}

/// The blocks of a range as columns.
pub fn columns(range: RangeInclusive<u64>) -> (Column, Column) {
    let (mut headers, mut bodies) = (Column::new(), Column::new());
    for number in range {
        headers.push(&header(number));
        bodies.push(&body(number));
    }
    (headers, bodies)
}
