//! A chain whose blocks change a table, as an execution engine would: next to the blocks a table of
//! accounts, a log of what each block replaced, a segment of what each block said, and pages with
//! the same accounts as slots of one contract.
#![allow(dead_code, reason = "each test program uses its part of this module")]

use std::{collections::BTreeMap, path::Path};

use blockmill_state_store::{Change, Pages, PagesOptions, StateKey};
use blockmill_store::{
    ChainStore, CommitPart, Fetched, LogFile, Opening, Options, Recovery, Result, Segment, Table,
    TableOptions,
};
use blockmill_trie::EMPTY_ROOT;

use crate::generated_blocks::{FIRST, hash, item, tip};

/// Small, so that the log has several files.
const LOG_FILE: u64 = 700;

/// The parts besides the blocks.
pub struct Parts {
    pub accounts: Table,
    pub changes: LogFile,
    pub events: Segment,
    pub pages: Pages,
}

impl Parts {
    pub fn open(opening: &mut Opening) -> Result<Parts> {
        Ok(Parts {
            accounts: opening.table("accounts", &TableOptions::new(1 << 18))?,
            changes: opening.log("changes", LOG_FILE)?,
            events: opening.segment("events", 4096)?,
            // files of eight pages, so that some are emptied
            pages: Pages::open(
                opening,
                "pages",
                &PagesOptions { page_bytes: 1024, file_bytes: 0, ..PagesOptions::new(1 << 14) },
            )?,
        })
    }

    pub fn all(&mut self) -> [CommitPart<'_>; 4] {
        let Parts { accounts, changes, events, pages } = self;
        [accounts.into(), changes.into(), events.into(), pages.into()]
    }
}

/// The contract whose slots the accounts are in pages.
const CONTRACT: [u8; 32] = [0x5a; 32];

/// Its value in the trie, with this storage root.
fn contract(root: &[u8; 32]) -> Vec<u8> {
    let (prefix, root_of) =
        ([0xf8, 68, 0x80, 0x80], |hash: &[u8; 32]| [&[0xa0], &hash[..]].concat());
    [&prefix[..], &root_of(root), &root_of(&[0xc0; 32])].concat()
}

/// Puts slots, which are in order, into pages; those without a value go.
fn put_slots(pages: &mut Pages, slots: &BTreeMap<[u8; 32], Vec<u8>>) -> Result<()> {
    let contract = contract(&EMPTY_ROOT);
    let own = Change { key: StateKey::account(CONTRACT), value: Some(&contract) };
    let slots = slots.iter().map(|(slot, value)| Change {
        key: StateKey::slot(CONTRACT, *slot),
        value: (!value.is_empty()).then_some(short(value)),
    });
    pages.update(&std::iter::once(own).chain(slots).collect::<Vec<_>>()).map(drop)
}

/// What pages have of a value.
fn short(value: &[u8]) -> &[u8] {
    &value[..value.len().min(127)]
}

/// What a commit of the parts says: the block after the last executed one, where the log ends.
fn state(next: u64, end: u64) -> Vec<u8> {
    [next, end].map(u64::to_le_bytes).concat()
}

/// Keys that a block changes.
fn keys(number: u64) -> [[u8; 32]; 3] {
    [number % 7, 7 + number % 11, 18 + number * number % 13].map(hash)
}

/// What a block sets under a key, never empty; none: it is removed.
fn change(number: u64, key: &[u8; 32]) -> Option<Vec<u8>> {
    let n = u64::from(key[0]) + number;
    (!n.is_multiple_of(4)).then(|| [item(n % 3, number).repeat(5), vec![7]].concat())
}

/// What accounts are after the blocks before `next`.
fn expected(next: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut all = BTreeMap::new();
    for (number, key) in (FIRST..next).flat_map(|number| keys(number).map(|key| (number, key))) {
        match change(number, &key) {
            Some(value) => _ = all.insert(key.to_vec(), value),
            None => _ = all.remove(&key[..]),
        }
    }
    all
}

/// A chain that is executed.
pub struct Chain {
    pub blocks: ChainStore,
    pub parts: Parts,
}

impl Chain {
    pub fn open(dir: &Path, options: &Options) -> Result<(Chain, Recovery)> {
        let ((blocks, recovery), parts) = ChainStore::open_with(dir, options, Parts::open)?;
        Ok((Chain { blocks, parts }, recovery))
    }

    pub fn open_read_only(dir: &Path) -> Result<Chain> {
        let ((blocks, _), parts) = ChainStore::open_read_only_with(dir, Parts::open)?;
        Ok(Chain { blocks, parts })
    }

    /// The first block that is not executed, as the last commit of the parts says.
    pub fn next(&self) -> u64 {
        let next = self.blocks.state_of_parts().first_chunk();
        next.map_or(FIRST, |next| u64::from_le_bytes(*next))
    }

    /// Executes the blocks up to the last committed one and commits what they change.
    pub fn execute(&mut self) -> Result<()> {
        let Chain { blocks, parts: Parts { accounts, changes, events, pages }, .. } = self;
        let Some(last) = blocks.tip().map(|tip| tip.number) else { return Ok(()) };
        let next = blocks.state_of_parts().first_chunk().map_or(FIRST, |n| u64::from_le_bytes(*n));
        let mut before = Fetched::default();
        for number in next..=last {
            let keys = keys(number);
            accounts.fetch(&keys, &mut before)?;
            let mut record = number.to_le_bytes().to_vec();
            for (at, key) in keys.iter().enumerate() {
                let (old, mut again) = (before.value(at), vec![]);
                assert_eq!(accounts.get(key, &mut again)?, old.is_some());
                assert_eq!(again, old.unwrap_or_default());
                record.extend((old.map_or(0, <[u8]>::len) as u32).to_le_bytes());
                record.extend(old.unwrap_or_default());
                match change(number, key) {
                    Some(value) => accounts.put(key, &value)?,
                    None => accounts.delete(key)?,
                }
            }
            changes.append(&record)?;
            events.append(&number.to_le_bytes())?;
            let slots = keys.map(|key| (key, change(number, &key).unwrap_or_default()));
            put_slots(pages, &slots.into())?;
        }
        let state = state(last + 1, changes.len());
        self.blocks.commit_with(&tip(last), &mut self.parts.all(), &state)
    }

    /// Takes back what the blocks after `last` changed, and the blocks, at one moment.
    pub fn unwind(&mut self, last: u64) -> Result<()> {
        let Parts { accounts, changes, events, pages } = &mut self.parts;
        let (mut end, mut record) = (changes.len(), vec![]);
        let mut next = FIRST + events.len() / 8;
        while next > last + 1 {
            next -= 1;
            end = changes.read(end, &mut record)?;
            let (number, mut rest) = record.split_first_chunk().unwrap();
            assert_eq!(u64::from_le_bytes(*number), next);
            let mut slots = BTreeMap::new();
            for key in keys(next) {
                let (len, bytes) = rest.split_first_chunk().unwrap();
                let (old, after) = bytes.split_at(u32::from_le_bytes(*len) as usize);
                match old {
                    [] => accounts.delete(&key)?,
                    old => accounts.put(&key, old)?,
                }
                slots.insert(key, old.to_vec());
                rest = after;
            }
            put_slots(pages, &slots)?;
            assert!(rest.is_empty());
        }
        changes.cut(end)?;
        events.cut((next - FIRST) * 8)?;
        let state = state(next, end);
        self.blocks.truncate_after_with(&tip(last), &mut self.parts.all(), &state)
    }

    /// Checks that all parts are what the blocks made of them.
    pub fn assert_fits(&self) {
        let (next, Parts { accounts, changes, events, pages }) = (self.next(), &self.parts);
        let mut found = BTreeMap::new();
        let mut scan = accounts.iter().unwrap();
        while let Some((key, value)) = scan.next().unwrap() {
            found.insert(key.to_vec(), value.to_vec());
        }
        assert!(found == expected(next), "accounts before block {next}");
        let slots = found.iter().map(|(key, value)| (key.clone(), short(value).to_vec())).collect();
        let contract = (CONTRACT.to_vec(), contract(&blockmill_trie::naive::root(&slots)));
        let is_new = next == FIRST;
        let root =
            if is_new { EMPTY_ROOT } else { blockmill_trie::naive::root(&[contract].into()) };
        assert!(pages.root() == root, "pages before block {next}");
        assert_eq!(events.len(), (next - FIRST) * 8);
        let mut numbers = vec![0; events.len() as usize];
        events.read(0, &mut numbers).unwrap();
        let (mut end, mut record) = (changes.len(), vec![]);
        assert_eq!(self.blocks.state_of_parts().get(8..).unwrap_or(&[0; 8]), end.to_le_bytes());
        for number in (FIRST..next).rev() {
            let at = (number - FIRST) as usize * 8;
            assert_eq!(numbers[at..at + 8], number.to_le_bytes());
            end = changes.read(end, &mut record).unwrap();
            assert_eq!(record[..8], number.to_le_bytes());
        }
        assert_eq!(end, 0);
    }
}
