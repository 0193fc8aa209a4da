//! Block files verified apart, at the levels `headers` and `bodies`.
//!
//! Which chain is the best, and at which height a block stands, only all headers together tell. So
//! it takes two steps: [`headers`] of each unit, which one place joins ([`Join`]): it builds the
//! tree, chooses the chain, and has for each unit a small table of what its blocks are to be held
//! to; then [`bodies`] of each unit by its table. `docs/distributed.md` says why the verdict is
//! that of a single run.

mod bodies;
pub mod documents;
mod join;

use crate::index::Found;
use crate::index::pass1::announced_height;
use crate::index::scan::{self, files::stretch};
use crate::options::Options;
use crate::{BlockHash, Error};
use archive::blkdat::BlockFiles;
pub use bodies::bodies;
use chain::Digits;
use crypto::Sha256;
use documents::{HeaderText, Headers, Record, SCHEMA, Source};
pub use join::Join;
use std::collections::HashSet;
use std::io::Read;

/// Bytes that are hashed at once.
const STEP: usize = 1 << 20;

/// What the files of a unit hold: 88 bytes of each record, and the bytes of all as a hash.
///
/// # Errors
/// A file cannot be read, or the run was asked to stop.
pub fn headers(files: &BlockFiles, options: &Options) -> Result<Headers, Error> {
    let known = [options.params.genesis_hash];
    let Options { setting, threads, cancel, .. } = options;
    let scan = scan::find(files, &known, setting, *threads, cancel)
        .map_err(|error| if cancel.is_cancelled() { Error::Stopped } else { error.into() })?;
    let (mut damage, mut unlisted) = (vec![], 0);
    for (file, report) in (0..).zip(&scan.reports) {
        damage.extend(report.damage.iter().map(|damage| (file, *damage)));
        unlisted += report.damage_count - report.damage.len() as u64;
    }
    let hashes: HashSet<BlockHash> = scan.found.iter().map(|found| found.hash).collect();
    let record = |found: &Found| {
        let is_start = !hashes.contains(&found.header().previous());
        let announced = is_start.then(|| announced_height(files, options, found)).flatten();
        record(found, announced)
    };
    Ok(Headers {
        schema: SCHEMA,
        chain: options.params.name.into(),
        sources: sources(files)?,
        records: scan.found.iter().map(record).collect(),
        damage,
        unlisted,
    })
}

fn record(found: &Found, announced: Option<u32>) -> Record {
    let Found { file, offset, size, header, .. } = *found;
    Record { file, offset, size, header: HeaderText(header), announced }
}

impl Record {
    /// The record, of a file with this index.
    fn found(&self, file: u32) -> Found {
        let (header, hash) = (self.header.0, BlockHash(crypto::sha256d(&self.header.0)));
        Found { file, offset: self.offset, size: self.size, header, hash }
    }
}

/// The blocks that stand in the bytes behind that of a record.
fn hidden(files: &BlockFiles, found: &Found, bytes: u32) -> Result<Vec<Record>, Error> {
    let mut more = vec![];
    stretch(files, found, bytes, &mut more)?;
    Ok(more.iter().map(|found| record(found, None)).collect())
}

fn sources(files: &BlockFiles) -> Result<Vec<Source>, Error> {
    let mut sources = vec![];
    for block_file in files.files() {
        let path = block_file.path();
        let mut file = block_file.open().map_err(Error::system("open", path))?;
        let (mut sha256, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; STEP]);
        loop {
            match file.read(&mut buffer).map_err(Error::system("read", path))? {
                0 => break,
                read => {
                    bytes += read as u64;
                    sha256.update(&buffer[..read]);
                }
            }
        }
        let sha256 = Digits(&sha256.finalize()).to_string();
        sources.push(Source { path: path.to_path_buf(), bytes, sha256 });
    }
    Ok(sources)
}
