//! Roots of the beacon chain, and the proofs in ere files that lead to them.
//!
//! A proof (portal network, `BlockProofHistoricalRoots`, `BlockProofHistoricalSummaries`) has two
//! branches: from the hash of an execution block to the root of its beacon block, and from there to
//! the root of the era. The roots of all eras are in a beacon state, so an era file has them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use blockmill_verdict::{Digits, Location};

use crate::formats::e2store::read::BlockFile;
use crate::formats::era::ssz::root_of_branch;
use crate::formats::era::{self, ERA_SLOTS, Layout};
use crate::{Archive, Error, Format, detect, input, listing};

type Hash = [u8; 32];

/// The most bytes of a text with roots: the eras of two thousand years.
const MOST_BYTES: usize = 64 << 20;

/// Roots of eras of the beacon chain, which the user trusts.
#[derive(Clone, Debug, Default)]
pub struct BeaconRoots {
    path: PathBuf,
    /// The root of each era up to the fork Capella.
    historical: Vec<Hash>,
    /// The root of the blocks of each era after that.
    summaries: Vec<Hash>,
    /// Roots of eras that are not known.
    listed: HashSet<Hash>,
}

impl BeaconRoots {
    /// Reads the roots in an era file, a folder of era files, or a text with a root in each line.
    ///
    /// # Errors
    ///
    /// Returns the error of a file that cannot be read, [`Error::BadRecord`] for a line that is no
    /// root, and [`Error::Unsupported`] for archives without roots that are known.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let is_text = !listing::is_folder(path)?
            && matches!(detect::format_of_file(path), Err(Error::UnknownFormat { .. }));
        if is_text {
            return Self::of_text(path);
        }
        let archive = Archive::open(&[path.to_path_buf()])?;
        if archive.format() != Format::Era {
            let what = format!("an {} in the place of beacon roots", archive.format());
            return Err(not_roots(path, what));
        }
        // the last state has the roots of all eras before it, too
        let mut files = vec![];
        for file in archive.files() {
            files.push((era::era_of(file)?, file));
        }
        files.sort_unstable();
        for (_, file) in files.into_iter().rev() {
            let layout = Layout::open(file)?;
            let state = layout.state();
            if !state.is_later {
                let (historical, summaries) =
                    (state.historical_roots.clone(), state.summaries.clone());
                let path = path.to_path_buf();
                return Ok(Self { path, historical, summaries, ..Self::default() });
            }
        }
        Err(not_roots(path, "an era file of a fork after Fulu".into()))
    }

    fn of_text(path: &Path) -> Result<Self, Error> {
        let text = input::read_whole(path, MOST_BYTES)?;
        let (mut listed, mut offset) = (HashSet::new(), 0);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let word = line.trim_ascii();
            match root_of_line(word) {
                Some(root) => {
                    listed.insert(root);
                }
                None if word.is_empty() => {}
                None => {
                    let shown = String::from_utf8_lossy(&word[..word.len().min(80)]).into_owned();
                    return Err(Error::BadRecord {
                        location: Location::new(path, offset),
                        what: "line of a list of beacon roots",
                        expected: "a root of 64 hexadecimal digits".into(),
                        found: format!("{shown:?}"),
                    });
                }
            }
            offset += line.len() as u64;
        }
        Ok(Self { path: path.to_path_buf(), listed, ..Self::default() })
    }

    /// Whether a proof leads to one of these roots; false if the root of its era is not known.
    ///
    /// # Errors
    ///
    /// Returns [`Error::BadRecord`] if it leads to another root.
    pub(crate) fn check(&self, proof: &BeaconProof) -> Result<bool, Error> {
        let bad = |what, expected: String, found: &Hash| {
            let (location, found) = (proof.location.clone(), Digits(found).to_string());
            Err(Error::BadRecord { location, what, expected, found })
        };
        if proof.from_block != proof.beacon_block {
            let what = "root of the beacon block by the proof that the block is canonical";
            return bad(what, Digits(&proof.beacon_block).to_string(), &proof.from_block);
        }
        let era = usize::try_from(proof.slot / ERA_SLOTS).unwrap_or(usize::MAX);
        let known = match proof.kind {
            ProofKind::HistoricalRoots => self.historical.get(era),
            _ => era.checked_sub(self.historical.len()).and_then(|era| self.summaries.get(era)),
        };
        let what = "root of the era by the proof that the block is canonical";
        match known {
            Some(known) if *known == proof.root => Ok(true),
            Some(known) => bad(what, Digits(known).to_string(), &proof.root),
            None if self.listed.is_empty() => Ok(false),
            None if self.listed.contains(&proof.root) => Ok(true),
            None => {
                let count = self.listed.len();
                bad(what, format!("one of the {count} in {}", self.path.display()), &proof.root)
            }
        }
    }
}

fn not_roots(path: &Path, what: String) -> Error {
    Error::Unsupported {
        path: path.to_path_buf(),
        what: what.into(),
        instead: "give an era file of a fork up to Fulu, or a text with roots".into(),
    }
}

/// The root in a line, with or without 0x.
fn root_of_line(word: &[u8]) -> Option<Hash> {
    let digits = word.strip_prefix(b"0x").unwrap_or(word);
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != 32 || !rest.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut root = [0; 32];
    for (byte, pair) in root.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(root)
}

/// The types of proofs by roots of the beacon chain. They differ in the place of the block's hash
/// in a beacon block, and in the root of an era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProofKind {
    /// Bellatrix: the root of an era is that of its roots of blocks and roots of states.
    HistoricalRoots,
    /// Capella: the root of an era is that of its roots of blocks.
    SummariesCapella,
    /// From Deneb on: execution payloads have more than 16 fields.
    SummariesDeneb,
}

impl ProofKind {
    /// The kind of proof by its number in ere files.
    pub fn of(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::HistoricalRoots),
            2 => Some(Self::SummariesCapella),
            3 => Some(Self::SummariesDeneb),
            _ => None,
        }
    }

    /// Levels from the root of a beacon block to the root of an era.
    fn beacon_depth(self) -> usize {
        let blocks = ERA_SLOTS.trailing_zeros() as usize;
        blocks + usize::from(self == Self::HistoricalRoots)
    }

    /// Levels from the hash of the execution block to the payload: it is field 12 of 14 or more.
    fn payload_depth(self) -> usize {
        if self == Self::SummariesDeneb { 5 } else { 4 }
    }
}

/// A proof, and the roots that it gives.
#[derive(Clone, Debug)]
pub(crate) struct BeaconProof {
    /// Place of its block in the chunk.
    pub block: usize,
    pub location: Location,
    kind: ProofKind,
    slot: u64,
    /// The root of the beacon block, as the proof states it.
    beacon_block: Hash,
    /// The root of the beacon block that the hash of the execution block leads to.
    from_block: Hash,
    /// The root of the era that `beacon_block` leads to.
    root: Hash,
}

impl BeaconProof {
    /// Reads the proof of the block with this `hash`: the branch of the beacon block, its root, the
    /// branch of the execution block, the slot. `None` if it has another length.
    pub fn read(
        kind: ProofKind,
        proof: &[u8],
        hash: &Hash,
        block: usize,
        location: Location,
    ) -> Option<Self> {
        let (hashes, slot) = proof.split_at_checked(proof.len().checked_sub(8)?)?;
        let slot = u64::from_le_bytes(*slot.first_chunk()?);
        let (hashes, rest) = hashes.as_chunks::<32>();
        // the body is field 4 of 5 of a block, the payload field 9 of 10 or more of the body
        let (depth, payload) = (kind.beacon_depth(), kind.payload_depth());
        if !rest.is_empty() || hashes.len() != depth + 1 + payload + 4 + 3 {
            return None;
        }
        let (beacon, rest) = hashes.split_at(depth);
        let (beacon_block, execution) = rest.split_first()?;
        let place = 12 | (9 | 4 << 4) << payload;
        Some(Self {
            block,
            location,
            kind,
            slot,
            beacon_block: *beacon_block,
            from_block: root_of_branch(hash, place, execution),
            // roots of blocks come before roots of states
            root: root_of_branch(beacon_block, slot % ERA_SLOTS, beacon),
        })
    }
}

#[cfg(test)]
mod tests;
