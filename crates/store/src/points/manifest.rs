//! The manifest: which runs there are, and the caller's state with them.
//!
//! It is written under a temporary name, synced, and renamed over the old one: at any moment there
//! is one whole manifest. Layout: `docs/formats/points.md`.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use super::{
    crash::{PointCrash, PointCrashPlan},
    run::RunFacts,
    salt::Salt,
};
use crate::error::{Error, Result, io_error, mismatch};

/// The file's name.
pub(crate) const NAME: &str = "manifest";
/// Its name until it is whole.
pub(crate) const TEMPORARY: &str = "manifest.new";
const MAGIC: &[u8; 8] = b"BMPOINT1";
/// Magic, salt, next number, count of runs, length of the state.
const HEAD: usize = 8 + 24 + 8 + 4 + 4;
/// Seven numbers of eight bytes, one of four.
const RUN: usize = 7 * 8 + 4;
/// The longest state.
pub(crate) const MAX_STATE: usize = 1 << 20;

/// What the manifest says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub salt: Salt,
    /// The number of the next run.
    pub next: u64,
    /// Newest first.
    pub runs: Vec<RunFacts>,
    pub state: Vec<u8>,
}

impl Manifest {
    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.salt.0.iter().for_each(|word| out.extend(word.to_le_bytes()));
        out.extend(self.next.to_le_bytes());
        out.extend((self.runs.len() as u32).to_le_bytes());
        out.extend((self.state.len() as u32).to_le_bytes());
        for run in &self.runs {
            let RunFacts { number, entries, live, below, blocks, pages, filter_blocks, sum } = *run;
            for word in [number, entries, live, below, blocks, pages, filter_blocks] {
                out.extend(word.to_le_bytes());
            }
            out.extend(sum.to_le_bytes());
        }
        out.extend(&self.state);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Manifest> {
        let (body, sum) = bytes.split_last_chunk()?;
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) || body.len() < HEAD {
            return None;
        }
        let long = |at: usize| body[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        let short = |at: usize| body[at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let (runs, state) = (short(40) as usize, short(44) as usize);
        let length = runs.checked_mul(RUN)?.checked_add(state)?.checked_add(HEAD)?;
        if &body[..8] != MAGIC || body.len() != length {
            return None;
        }
        let facts = (0..runs).map(|n| HEAD + n * RUN).map(|at| RunFacts {
            number: long(at),
            entries: long(at + 8),
            live: long(at + 16),
            below: long(at + 24),
            blocks: long(at + 32),
            pages: long(at + 40),
            filter_blocks: long(at + 48),
            sum: short(at + 56),
        });
        Some(Manifest {
            salt: Salt([long(8), long(16), long(24)]),
            next: long(32),
            runs: facts.collect(),
            state: body[length - state..].to_vec(),
        })
    }

    /// Reads the manifest of `dir`; `None` when there is none.
    pub fn read(dir: &Path) -> Result<Option<Manifest>> {
        let path = dir.join(NAME);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(io_error("read", &path))?,
        };
        let damaged = |found: String| Error::Damaged {
            path: path.clone(),
            offset: 0,
            what: "manifest",
            expected: "a checksum over all of it".into(),
            found,
        };
        let found = Manifest::decode(&bytes);
        Ok(Some(found.ok_or_else(|| damaged(format!("{} other bytes", bytes.len())))?))
    }

    /// Makes this the manifest of `dir`, durably.
    pub fn write(&self, dir: &Path, crash: &mut PointCrashPlan) -> Result<()> {
        if self.state.len() > MAX_STATE {
            return Err(mismatch(
                "bytes of state",
                format!("at most {MAX_STATE}"),
                self.state.len(),
            ));
        }
        let (path, bytes) = (dir.join(TEMPORARY), self.encode());
        let mut file = File::create(&path).map_err(io_error("make", &path))?;
        let (half, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all(half).map_err(io_error("write", &path))?;
        crash.reach(PointCrash::HalfManifest)?;
        file.write_all(rest).map_err(io_error("write", &path))?;
        file.sync_all().map_err(io_error("sync", &path))?;
        crash.reach(PointCrash::BeforeRename)?;
        fs::rename(&path, dir.join(NAME)).map_err(io_error("rename", &path))?;
        crash.reach(PointCrash::AfterRename)?;
        sync_folder(dir)
    }
}

/// Makes names in a folder durable.
pub(crate) fn sync_folder(dir: &Path) -> Result<()> {
    let folder = File::open(dir).map_err(io_error("open", dir))?;
    folder.sync_all().map_err(io_error("sync", dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_and_no_flipped_bit_passes() {
        let run =
            RunFacts { number: 7, entries: 5, live: 3, below: 2, sum: 9, ..Default::default() };
        let state = b"tip and height".to_vec();
        let manifest = Manifest { salt: Salt([1, 2, 3]), next: 8, runs: vec![run; 3], state };
        let bytes = manifest.encode();
        assert_eq!(Manifest::decode(&bytes), Some(manifest));
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Manifest::decode(&other), None);
        }
        assert!((0..bytes.len()).all(|len| Manifest::decode(&bytes[..len]).is_none()));
    }
}
