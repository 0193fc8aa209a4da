//! The checkpoint file: what is committed, what is durable, and the proof of the difference.
//!
//! Two slots, written in turn, each with a sequence number and its own checksum: a torn write
//! leaves the other slot whole. Layout: `docs/formats/checkpoint.md`.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::error::{Error, Result, io_error};

/// Bytes of one slot.
pub(crate) const SLOT_BYTES: usize = 512;
/// Distance of the two slots: they never share a page or a disk sector.
pub(crate) const SLOT_STRIDE: u64 = 4096;
/// The name of the checkpoint file.
pub const FILE_NAME: &str = "checkpoint";
/// Segmented files whose bytes a commit vouches for: data and ends of three columns, the hashes.
pub(crate) const SUMS: usize = 7;

const MAGIC: [u8; 8] = *b"BMSTORE2";
/// What is wrong with a whole slot of another version of this program.
const FORMAT: &str = "format";
/// More checkpoints than anyone can write, so that the next number always exists.
const MAX_SEQUENCE: u64 = u64::MAX >> 1;

/// The last committed block, and what the importer needs to go on from it. The store itself only
/// looks at `number` and `hash`; the rest is kept for the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tip {
    /// Number of the last block.
    pub number: u64,
    /// Hash of the last block.
    pub hash: [u8; 32],
    /// Total difficulty (or chain work) up to this block, big-endian.
    pub total_difficulty: [u8; 32],
    /// Number of the block that is trusted without a check, where the import began.
    pub anchor_number: u64,
    /// Hash of that block.
    pub anchor_hash: [u8; 32],
    /// Identifies the chain: for example the genesis hash.
    pub chain: [u8; 32],
    /// How deeply the blocks were verified, in the caller's own numbers.
    pub level: u8,
}

/// How much of a store counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Number of the first block.
    pub first: u64,
    /// Blocks in the store.
    pub count: u64,
    /// Data bytes of headers, bodies, receipts.
    pub bytes: [u64; 3],
    /// Which of headers, bodies, receipts the store keeps: all blocks have it or none has.
    pub kept: [bool; 3],
    /// The last block; its bytes mean nothing while `count` is 0.
    pub tip: Tip,
    /// CRC-32 of the last piece of each file, which is not full.
    pub tails: [u32; SUMS],
}

/// Sizes that the files of a store were written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes in a file before the next one is begun.
    pub file_bytes: u64,
    /// Blocks in a small run of the hash index: a power of two.
    pub run_items: u64,
}

/// One checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Counts checkpoints; the higher one is the newer one. Its lowest bit names the slot.
    pub sequence: u64,
    pub layout: Layout,
    pub committed: State,
    /// The part of `committed` that was synced before this slot was written.
    pub durable: State,
    /// CRC-32 of the sums between `durable` and `committed`, for each file.
    pub since: [u32; SUMS],
}

impl Slot {
    /// The bytes of this slot, checksum last.
    pub fn encode(&self) -> [u8; SLOT_BYTES] {
        let mut out = Vec::with_capacity(SLOT_BYTES);
        out.extend(MAGIC);
        for number in [self.sequence, self.layout.file_bytes, self.layout.run_items] {
            out.extend(number.to_le_bytes());
        }
        put_state(&mut out, &self.committed);
        put_state(&mut out, &self.durable);
        self.since.iter().for_each(|sum| out.extend(sum.to_le_bytes()));
        out.resize(SLOT_BYTES - 4, 0);
        out.extend(crc32fast::hash(&out).to_le_bytes());
        let mut slot = [0; SLOT_BYTES];
        slot.copy_from_slice(&out);
        slot
    }

    /// Reads a slot. `Err` says what is wrong with it: (what, expected, found).
    pub fn decode(bytes: &[u8; SLOT_BYTES]) -> std::result::Result<Slot, SlotDamage> {
        let (body, sum) = bytes.split_at(SLOT_BYTES - 4);
        let (expected, found) = (crc32fast::hash(body).to_le_bytes(), sum);
        if expected != found {
            return Err(SlotDamage("checkpoint checksum", hex(&expected), hex(found)));
        }
        let mut at = Cursor(body);
        let magic: [u8; 8] = at.array();
        if magic != MAGIC {
            let text = |magic: &[u8]| String::from_utf8_lossy(magic).into_owned();
            return Err(SlotDamage(FORMAT, text(&MAGIC), text(&magic)));
        }
        let sequence = at.number();
        if sequence > MAX_SEQUENCE {
            let (expected, found) = (format!("up to {MAX_SEQUENCE}"), sequence.to_string());
            return Err(SlotDamage("checkpoint sequence", expected, found));
        }
        let layout = Layout { file_bytes: at.number(), run_items: at.number() };
        let (committed, durable) = (at.state(), at.state());
        let since = at.words();
        layout.check()?;
        committed.check("committed state")?;
        durable.check("durable state")?;
        if !durable.is_prefix_of(&committed) {
            let (expected, found) = (format!("{durable:?}"), format!("{committed:?}"));
            return Err(SlotDamage("committed state", expected, found));
        }
        Ok(Slot { sequence, layout, committed, durable, since })
    }
}

/// What is wrong with a slot: what, expected, found.
#[derive(Debug)]
pub(crate) struct SlotDamage(pub &'static str, pub String, pub String);

impl Layout {
    /// The least file size: a page.
    pub const MIN_FILE_BYTES: u64 = 4096;
    /// The most blocks in a small run: places in a big run then take 24 bits, as filters assume.
    pub const MAX_RUN_ITEMS: u64 = 1 << 20;

    /// Whether files of these sizes can exist.
    pub fn check(&self) -> std::result::Result<(), SlotDamage> {
        if self.file_bytes < Self::MIN_FILE_BYTES || self.file_bytes > 1 << 50 {
            let found = self.file_bytes.to_string();
            return Err(SlotDamage("file size", "4096 bytes to 1 PiB".into(), found));
        }
        if !self.run_items.is_power_of_two() || self.run_items > Self::MAX_RUN_ITEMS {
            let found = self.run_items.to_string();
            return Err(SlotDamage("run length", "a power of two up to 2^20".into(), found));
        }
        Ok(())
    }
}

impl State {
    /// Number of the block after the last one.
    pub fn next(&self) -> u64 {
        self.first + self.count
    }

    fn check(&self, what: &'static str) -> std::result::Result<(), SlotDamage> {
        let next = self.first.checked_add(self.count).filter(|_| self.count < 1 << 48);
        let may_have = |kept| kept && self.count > 0;
        let sized = self.bytes.iter().zip(self.kept).all(|(n, kept)| *n == 0 || may_have(kept));
        let ends = next.is_some_and(|next| self.count == 0 || self.tip.number == next - 1);
        if sized && ends && self.bytes.iter().all(|n| *n < 1 << 60) {
            return Ok(());
        }
        Err(SlotDamage(what, "consistent numbers".into(), format!("{self:?}")))
    }

    fn is_prefix_of(&self, other: &State) -> bool {
        let shorter = self.bytes.iter().zip(other.bytes).all(|(a, b)| *a <= b);
        let same = self.first == other.first && self.kept == other.kept;
        shorter && (self.count == 0 || same && self.count <= other.count)
    }
}

fn put_state(out: &mut Vec<u8>, state: &State) {
    let [headers, bodies, receipts] = state.bytes;
    for number in [state.first, state.count, headers, bodies, receipts] {
        out.extend(number.to_le_bytes());
    }
    out.extend(state.kept.map(u8::from));
    let tip = &state.tip;
    out.extend(tip.number.to_le_bytes());
    out.extend([tip.hash, tip.total_difficulty].as_flattened());
    out.extend(tip.anchor_number.to_le_bytes());
    out.extend([tip.anchor_hash, tip.chain].as_flattened());
    out.push(tip.level);
    state.tails.iter().for_each(|tail| out.extend(tail.to_le_bytes()));
}

/// Takes fixed fields off the front of a slot. A slot is longer than its fields, so nothing is
/// ever missing; bytes beyond the end would read as zero.
struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *head
    }

    fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    fn state(&mut self) -> State {
        let (first, count) = (self.number(), self.number());
        let bytes = std::array::from_fn(|_| self.number());
        let kept = self.array::<3>().map(|flag| flag != 0);
        let tip = Tip {
            number: self.number(),
            hash: self.array(),
            total_difficulty: self.array(),
            anchor_number: self.number(),
            anchor_hash: self.array(),
            chain: self.array(),
            level: self.array::<1>()[0],
        };
        State { first, count, bytes, kept, tip, tails: self.words() }
    }

    fn words(&mut self) -> [u32; SUMS] {
        std::array::from_fn(|_| u32::from_le_bytes(self.array()))
    }
}

/// Bytes in hexadecimal digits, for messages.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// What a checkpoint file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading.
    Read,
    /// Writing, in a folder that holds data already.
    Write,
    /// Writing, in a folder in which a store may be made.
    Create,
}

/// The open checkpoint file.
pub(crate) struct CheckpointFile {
    file: File,
    path: PathBuf,
}

impl CheckpointFile {
    /// Opens the file in `dir`; `access` says for what.
    pub fn open(dir: &Path, access: Access) -> Result<CheckpointFile> {
        let path = dir.join(FILE_NAME);
        let mut options = OpenOptions::new();
        options.read(true).write(access != Access::Read).create(access == Access::Create);
        let file = options.open(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound if access == Access::Write => Error::Damaged {
                path: path.clone(),
                offset: 0,
                what: "checkpoint",
                expected: "a checkpoint that says what of the files counts".into(),
                found: "no file of that name".into(),
            },
            std::io::ErrorKind::NotFound => Error::NoStore { path: dir.to_path_buf() },
            _ => Error::Io { action: "open", path: path.clone(), source },
        })?;
        Ok(CheckpointFile { file, path })
    }

    /// Both slots, each whole or with what is wrong about it.
    pub fn read(&self) -> Result<[std::result::Result<Slot, SlotDamage>; 2]> {
        Ok([self.read_slot(0)?, self.read_slot(1)?])
    }

    fn read_slot(&self, index: u64) -> Result<std::result::Result<Slot, SlotDamage>> {
        let mut bytes = [0; SLOT_BYTES];
        let mut filled = 0;
        while filled < SLOT_BYTES {
            let offset = index * SLOT_STRIDE + filled as u64;
            match self.file.read_at(&mut bytes[filled..], offset) {
                Ok(0) => {
                    let (whole, found) = (format!("{SLOT_BYTES} bytes"), format!("{filled} bytes"));
                    return Ok(Err(SlotDamage("checkpoint length", whole, found)));
                }
                Ok(n) => filled += n,
                Err(source) => return Err(io_error("read", &self.path)(source)),
            }
        }
        Ok(Slot::decode(&bytes))
    }

    /// Writes a slot (or the first `len` bytes of it) over the older of the two.
    pub fn write(&self, slot: &Slot, len: usize) -> Result<()> {
        let offset = (slot.sequence & 1) * SLOT_STRIDE;
        let bytes = &slot.encode()[..len];
        self.file.write_all_at(bytes, offset).map_err(io_error("write", &self.path))
    }

    /// Makes the written slots survive a power loss.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().map_err(io_error("sync", &self.path))
    }

    /// The error for a slot that cannot be used.
    pub fn damage(&self, index: u64, damage: &SlotDamage) -> Error {
        let SlotDamage(what, expected, found) = damage;
        if *what == FORMAT {
            let (path, expected, found) = (self.path.clone(), expected.clone(), found.clone());
            return Error::OtherFormat { path, expected, found };
        }
        Error::Damaged {
            path: self.path.clone(),
            offset: index * SLOT_STRIDE,
            what,
            expected: expected.clone(),
            found: found.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a slot of these states, whose checksum is right.
    fn damage(committed: State, durable: State) -> Option<&'static str> {
        damage_of(&slot(1, committed, durable))
    }

    fn damage_of(slot: &Slot) -> Option<&'static str> {
        Slot::decode(&slot.encode()).err().map(|damage| damage.0)
    }

    fn slot(sequence: u64, committed: State, durable: State) -> Slot {
        let layout = Layout { file_bytes: 4096, run_items: 2 };
        Slot { sequence, layout, committed, durable, since: [0; SUMS] }
    }

    /// Blocks 5 to 7 with headers only.
    fn state() -> State {
        let tip = Tip { number: 7, ..Tip::default() };
        let kept = [true, false, false];
        State { first: 5, count: 3, bytes: [30, 0, 0], kept, tip, tails: [9; SUMS] }
    }

    #[test]
    fn numbers_beyond_64_bits_are_damage() {
        assert_eq!(damage(state(), State::default()), None);
        let committed = State { first: u64::MAX, ..state() };
        assert_eq!(damage(committed, State::default()), Some("committed state"));
        let last = slot(u64::MAX, state(), state());
        assert_eq!(damage_of(&last), Some("checkpoint sequence"));
    }

    #[test]
    fn durable_bytes_beyond_the_committed_ones_are_damage() {
        assert_eq!(damage(state(), state()), None);
        let more_columns = State { kept: [true; 3], ..state() };
        let more_bytes = State { bytes: [31, 0, 0], ..state() };
        for durable in [more_columns, more_bytes] {
            assert_eq!(damage(state(), durable), Some("committed state"), "{durable:?}");
        }
    }

    #[test]
    fn bytes_without_blocks_are_damage() {
        let durable = State { count: 0, ..state() };
        assert_eq!(damage(state(), durable), Some("durable state"));
    }
}
