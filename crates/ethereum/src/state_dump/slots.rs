//! The slots of one account in the order of their keys: in memory, or as runs in temporary files
//! that are merged.

use super::SlotForm;
use crate::{Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::{Decode, Encode};
use blockmill_trie::RootBuilder;
use blockmill_verdict::Hex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;

/// Slots of an account in memory: 40 MiB as they are in the dump, and 48 MiB sorted.
const TOGETHER: usize = 1 << 19;
/// Bytes of a buffer of a run: 1,000 runs, half a billion slots, take 64 MiB.
const RUN_BUFFER: usize = 64 << 10;
/// The most bytes of a value: RLP of 32 bytes.
const VALUE: usize = 33;

/// The reason why slots cannot be sorted.
#[derive(Debug)]
pub(super) enum SlotFault {
    /// A temporary file.
    Io(io::Error),
    /// A slot, what was expected and what was found.
    Wrong(Hash, &'static str, String),
}

impl From<io::Error> for SlotFault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A slot as the dump has it.
#[derive(Clone, Copy)]
pub(super) struct GivenSlot {
    /// The slot or its key.
    name: Hash,
    value: [u8; VALUE],
    length: u8,
}

impl GivenSlot {
    const BYTES: usize = 32 + 1 + VALUE;

    /// A slot with the bytes of its value; `None` if they are too many.
    pub fn new(name: Hash, bytes: &[u8]) -> Option<Self> {
        let mut value = [0; VALUE];
        value.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { name, value, length: bytes.len() as u8 })
    }

    fn bytes(&self) -> &[u8] {
        &self.value[..self.length.into()]
    }

    /// The value; `None` if it is 0 or malformed.
    fn value(&self, form: SlotForm) -> Option<U256> {
        let value = match form {
            SlotForm::Plain => U256::try_from_be_slice(self.bytes()),
            SlotForm::Hashed => U256::decode(self.bytes()).ok(),
        };
        value.filter(|value| !value.is_zero())
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.name)?;
        out.write_all(&[self.length])?;
        out.write_all(&self.value)
    }

    fn read(input: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; Self::BYTES];
        input.read_exact(&mut bytes)?;
        let (mut name, mut value) = ([0; 32], [0; VALUE]);
        name.copy_from_slice(&bytes[..32]);
        value.copy_from_slice(&bytes[33..]);
        Ok(Self { name, value, length: bytes[32] })
    }
}

/// A slot with its key.
#[derive(Clone, Copy)]
pub(super) struct SortedSlot {
    pub key: Hash,
    /// The slot; of [`SlotForm::Hashed`] the key.
    pub name: Hash,
    pub value: U256,
}

impl SortedSlot {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.key)?;
        out.write_all(&self.name)?;
        out.write_all(&self.value.to_be_bytes::<32>())
    }

    /// `None` at the end of a run.
    fn read(input: &mut impl Read) -> io::Result<Option<Self>> {
        let (mut key, mut name, mut value) = ([0; 32], [0; 32], [0; 32]);
        match input.read_exact(&mut key) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        input.read_exact(&mut name)?;
        input.read_exact(&mut value)?;
        Ok(Some(Self { key, name, value: U256::from_be_bytes(value) }))
    }
}

/// Collects the slots of an account.
pub(super) struct Slots {
    hasher: ManyKeccak,
    roots: RootBuilder,
    /// Folder of the temporary files.
    folder: PathBuf,
    /// Slots in memory before they are written to a file.
    together: usize,
    given: Vec<GivenSlot>,
    spilled: Option<BufWriter<File>>,
    /// Slots in the file.
    in_file: u64,
}

impl Slots {
    pub fn new(folder: PathBuf) -> Self {
        Self::within(folder, TOGETHER)
    }

    /// The same with another limit of slots in memory.
    pub fn within(folder: PathBuf, together: usize) -> Self {
        let (hasher, roots) = (ManyKeccak::detect(), RootBuilder::new());
        let (given, spilled, in_file) = (vec![], None, 0);
        Self { hasher, roots, folder, together, given, spilled, in_file }
    }

    pub fn clear(&mut self) {
        self.given.clear();
        (self.spilled, self.in_file) = (None, 0);
    }

    pub fn count(&self) -> u64 {
        self.in_file + self.given.len() as u64
    }

    pub fn push(&mut self, slot: GivenSlot) -> io::Result<()> {
        self.given.push(slot);
        if self.given.len() < self.together {
            return Ok(());
        }
        let file = match &mut self.spilled {
            Some(file) => file,
            none => none.insert(BufWriter::new(tempfile::tempfile_in(&self.folder)?)),
        };
        self.in_file += self.given.len() as u64;
        self.given.drain(..).try_for_each(|slot| slot.write(file))
    }

    /// Sorts all slots, and computes the root of their trie.
    pub fn sort(&mut self, form: SlotForm) -> Result<(Sorted, Hash), SlotFault> {
        let mut sorted = Sorted { last: self.sort_some(form, &self.given)?, runs: vec![] };
        if let Some(file) = &mut self.spilled {
            file.flush()?;
        }
        if let Some(mut file) = self.spilled.as_ref().map(BufWriter::get_ref) {
            file.rewind()?;
            let (mut file, mut left) = (BufReader::new(file), self.in_file);
            let mut some = vec![];
            while left > 0 {
                let count = left.min(self.together as u64);
                (0..count).try_for_each(|_| GivenSlot::read(&mut file).map(|s| some.push(s)))?;
                let mut run = BufWriter::new(tempfile::tempfile_in(&self.folder)?);
                for slot in self.sort_some(form, &some)? {
                    slot.write(&mut run)?;
                }
                sorted.runs.push(run.into_inner().map_err(io::IntoInnerError::into_error)?);
                some.clear();
                left -= count;
            }
        }
        let root = sorted.root(&mut self.roots)?;
        Ok((sorted, root))
    }

    fn sort_some(&self, form: SlotForm, given: &[GivenSlot]) -> Result<Vec<SortedSlot>, SlotFault> {
        let mut sorted = Vec::with_capacity(given.len());
        for slot in given {
            let value = slot.value(form).ok_or_else(|| {
                let found = format!("{:?}", Hex(slot.bytes()).to_string());
                SlotFault::Wrong(slot.name, "a value of at most 256 bits that is not 0", found)
            })?;
            sorted.push(SortedSlot { key: slot.name, name: slot.name, value });
        }
        if form == SlotForm::Plain {
            let names: Vec<&[u8]> = given.iter().map(|slot| &slot.name[..]).collect();
            let mut keys = vec![[0; 32]; names.len()];
            self.hasher.keccak256(&names, &mut keys);
            sorted.iter_mut().zip(keys).for_each(|(slot, key)| slot.key = key);
        }
        sorted.sort_unstable_by_key(|slot| slot.key);
        match sorted.windows(2).find(|pair| pair[0].key == pair[1].key) {
            Some(pair) => Err(twice(&pair[0])),
            None => Ok(sorted),
        }
    }
}

fn twice(slot: &SortedSlot) -> SlotFault {
    SlotFault::Wrong(slot.name, "each slot once", "it twice".into())
}

/// The slots of an account, sorted.
pub(super) struct Sorted {
    /// Those that fit in memory.
    last: Vec<SortedSlot>,
    /// The others, in sorted files.
    runs: Vec<File>,
}

impl Sorted {
    /// The slots in the order of their keys.
    pub fn slots(&mut self) -> io::Result<Merge<'_>> {
        let mut runs = vec![];
        for run in &mut self.runs {
            run.rewind()?;
            runs.push(BufReader::with_capacity(RUN_BUFFER, &*run));
        }
        Merge::new(&self.last, runs)
    }

    fn root(&mut self, roots: &mut RootBuilder) -> Result<Hash, SlotFault> {
        if self.runs.is_empty() {
            return Ok(roots.sorted(self.last.iter().map(|slot| (slot.key, slot.value.encode()))));
        }
        let (mut slots, mut fault, mut before) = (self.slots()?, None, None);
        let leaves = std::iter::from_fn(|| match slots.next() {
            Ok(Some(slot)) if before == Some(slot.key) => {
                fault = Some(twice(&slot));
                None
            }
            Ok(slot) => {
                before = slot.map(|slot| slot.key);
                slot.map(|slot| (slot.key, slot.value.encode()))
            }
            Err(error) => {
                fault = Some(error.into());
                None
            }
        });
        let root = roots.sorted(leaves.fuse());
        match fault {
            Some(fault) => Err(fault),
            None => Ok(root),
        }
    }
}

/// Merges runs.
pub(super) struct Merge<'s> {
    last: std::slice::Iter<'s, SortedSlot>,
    runs: Vec<BufReader<&'s File>>,
    /// The next slot of the slots in memory, then of each run.
    next: Vec<Option<SortedSlot>>,
    /// The keys of these, the least first.
    order: BinaryHeap<Reverse<(Hash, usize)>>,
}

impl<'s> Merge<'s> {
    fn new(last: &'s [SortedSlot], runs: Vec<BufReader<&'s File>>) -> io::Result<Self> {
        let (next, order) = (vec![None; runs.len() + 1], BinaryHeap::new());
        let mut merge = Self { last: last.iter(), runs, next, order };
        (0..merge.next.len()).try_for_each(|at| merge.advance(at))?;
        Ok(merge)
    }

    fn advance(&mut self, at: usize) -> io::Result<()> {
        self.next[at] = match at.checked_sub(1) {
            None => self.last.next().copied(),
            Some(run) => SortedSlot::read(&mut self.runs[run])?,
        };
        self.order.extend(self.next[at].map(|slot| Reverse((slot.key, at))));
        Ok(())
    }

    /// The next slot; `None` after the last one.
    pub fn next(&mut self) -> io::Result<Option<SortedSlot>> {
        if self.runs.is_empty() {
            let slot = self.next[0].take().or_else(|| self.last.next().copied());
            return Ok(slot);
        }
        let Some(Reverse((_, at))) = self.order.pop() else { return Ok(None) };
        let slot = self.next[at].take();
        self.advance(at)?;
        Ok(slot)
    }
}
