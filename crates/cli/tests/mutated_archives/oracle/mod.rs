//! What is true of a corrupt archive, found out without any of the program's readers and decoders.
//!
//! Each format has a splitter of its own, which cuts the bytes into records and nothing more.
//! Compressed bytes are unpacked by the libraries of the formats. Records are compared with those
//! of the original byte by byte.

mod bare_headers;
mod blocks;
mod e2store;
mod freezer;
mod rlp;

use std::io::Read;
use std::ops::Range;

use crate::chains::{Files, Kind, Original, Packing};
use crate::mutations::Mutant;

pub use blocks::{apply_key, blocks_of, framed, headers_of, xor_key};
pub use rlp::difficulty;

/// What an archive holds, next to what it should.
#[derive(Debug)]
pub enum Truth {
    /// Every record, unchanged; the number of the last block. When the archive `must` be
    /// verified, no reader may refuse it.
    Same { last: u64, must: bool },
    /// Every block, unchanged. What vouches for them, and may be missing, is a record of an unknown
    /// type, which the answer has to name.
    Unknown { last: u64 },
    /// Some of the blocks without a gap and nothing else: an archive by itself. Where it begins
    /// in the middle of the chain, `from` is its first block, on which all of it rests.
    Part { from: Option<u64>, last: u64 },
    /// The same, but for the last header, for which nothing in these formats vouches: what comes
    /// before names its parent only. `--trust` does, and seals do in real chains. Likewise a single
    /// block of another chain.
    LastHeader,
    /// Something is missing, or is not what it was.
    Broken(String),
}

/// Judges a corrupt archive. `trusted` says whether the program is given the tip's hash.
pub fn truth(original: &Original, mutant: &Mutant, trusted: bool) -> Truth {
    let must = mutant.harmless;
    match original.kind {
        Kind::Records => e2store::truth(original, &mutant.files, must),
        Kind::Freezer => freezer::truth(&original.files, &mutant.files, must),
        Kind::Rlp | Kind::Headers => {
            let Some(packed) = mutant.files.get(original.target) else {
                return Truth::Broken("the file is not there".into());
            };
            match unpack(original.packing, packed) {
                Ok(found) => rlp::truth(original, &found, trusted, must),
                Err(error) => Truth::Broken(format!("it does not unpack: {error}")),
            }
        }
        Kind::BitcoinHeaders => match mutant.files.get(original.target) {
            Some(found) => bare_headers::truth(&original.files[original.target], found, must),
            None => Truth::Broken("the file is not there".into()),
        },
        Kind::Blocks => blocks::truth(&original.files, &mutant.files, &original.foreign, must),
    }
}

/// Where the records of a file are, whatever can be found of them.
pub fn extents(kind: Kind, name: &str, bytes: &[u8], files: &Files) -> Vec<Range<usize>> {
    match kind {
        Kind::Records => e2store::extents(bytes),
        Kind::Freezer => freezer::extents(name, bytes, files),
        Kind::Rlp | Kind::Headers => rlp::extents(bytes),
        Kind::BitcoinHeaders => bare_headers::extents(bytes),
        Kind::Blocks => blocks::extents(name, bytes, files),
    }
}

/// The whole content, with every checksum compared; an error when anything is wrong.
fn unpack(packing: Packing, packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut found = vec![];
    match packing {
        Packing::None => found.extend_from_slice(packed),
        Packing::Gzip => {
            flate2::bufread::MultiGzDecoder::new(packed).read_to_end(&mut found)?;
        }
        Packing::Zstd => {
            zstd::Decoder::with_buffer(packed)?.read_to_end(&mut found)?;
        }
    }
    Ok(found)
}
