//! A state that changes at random, in maps, with its root by the definition of the tries.
#![allow(dead_code)] // each test uses its part

use std::collections::BTreeMap;

use blockmill_state_store::{Change, Pages, StateKey};
pub use blockmill_testkit::Random;

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Hashes.
    Uniform,
    /// Half-bytes of one bit each, so that keys part late and branches have few children.
    Skewed,
    /// All but the last bytes are the same, so that nodes stand in their parents.
    Narrow,
}

impl Draw {
    pub const ALL: [Draw; 3] = [Draw::Uniform, Draw::Skewed, Draw::Narrow];

    pub fn key(self, random: &mut Random) -> [u8; 32] {
        let mut key: [u8; 32] = random.array();
        match self {
            Draw::Uniform => {}
            Draw::Skewed => {
                let from = random.below(33_usize);
                key.iter_mut().for_each(|byte| *byte &= 0x11);
                key[from..].fill(0);
            }
            Draw::Narrow => key[..30].fill(0xab),
        }
        key
    }
}

/// An account: what stands around its storage root, and its slots.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub nonce: u8,
    pub balance: Vec<u8>,
    pub code: Option<[u8; 32]>,
    pub slots: BTreeMap<[u8; 32], Vec<u8>>,
    /// Root of the slots, once it is known.
    root: Option<[u8; 32]>,
}

const EMPTY_CODE: [u8; 32] = [
    0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0,
    0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa, 0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
];

impl Account {
    /// RLP of nonce, balance, storage root and hash of the code.
    pub fn value(&self, root: &[u8; 32]) -> Vec<u8> {
        let mut payload = vec![if self.nonce == 0 { 0x80 } else { self.nonce }];
        payload.push(0x80 + self.balance.len() as u8);
        payload.extend(&self.balance);
        payload.push(0xa0);
        payload.extend(root);
        payload.push(0xa0);
        payload.extend(self.code.unwrap_or(EMPTY_CODE));
        [vec![0xf8, payload.len() as u8], payload].concat()
    }

    /// The slots have changed.
    pub fn forget_root(&mut self) {
        self.root = None;
    }

    fn root(&mut self) -> [u8; 32] {
        let slots = &self.slots;
        *self.root.get_or_insert_with(|| naive(slots.iter().map(|(k, v)| (k.to_vec(), v.clone()))))
    }
}

fn naive(leaves: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> [u8; 32] {
    blockmill_trie::naive::root(&leaves.collect())
}

/// Changes of a block as the store takes them, sorted.
pub type Batch = BTreeMap<StateKey, Option<Vec<u8>>>;

/// The state.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub accounts: BTreeMap<[u8; 32], Account>,
}

/// What kind of changes a block makes.
#[derive(Clone, Copy, Debug)]
pub struct Mood {
    pub draw: Draw,
    /// Of a hundred changes so many remove something.
    pub removes: u32,
    /// Changes.
    pub changes: usize,
    /// Of a hundred changes so many are of slots.
    pub slots: u32,
}

fn balance(random: &mut Random) -> Vec<u8> {
    let len = 2 + random.below(8_usize);
    let mut bytes = random.bytes(len);
    bytes[0] |= 1;
    bytes
}

/// RLP of a number that is not 0, of 1 to 32 bytes.
fn slot_value(random: &mut Random) -> Vec<u8> {
    match random.below(3_u32) {
        0 => vec![1 + random.below(0x7f_u8)],
        1 => vec![0x82, 1 + random.below(255_u8), random.below(255_u8)],
        _ => {
            let mut value = random.array::<33>();
            (value[0], value[1]) = (0xa0, value[1] | 1);
            value.to_vec()
        }
    }
}

fn pick(map: &[[u8; 32]], random: &mut Random) -> Option<[u8; 32]> {
    (!map.is_empty()).then(|| map[random.below(map.len())])
}

impl World {
    /// Makes the changes of a block, here and as a batch.
    pub fn block(&mut self, mood: Mood, random: &mut Random) -> Batch {
        let mut batch = Batch::new();
        let mut removed = vec![];
        let known: Vec<_> = self.accounts.keys().copied().collect();
        for _ in 0..mood.changes {
            let removes = random.below(100) < mood.removes;
            if random.below(100) >= mood.slots || known.is_empty() {
                let key = match pick(&known, random) {
                    Some(key) if removes || random.coin() => key,
                    _ => mood.draw.key(random),
                };
                if removed.contains(&key) {
                    continue;
                }
                if removes {
                    if batch.keys().all(|k| k.account != key) {
                        self.accounts.remove(&key);
                        batch.insert(StateKey::account(key), None);
                        removed.push(key);
                    }
                    continue;
                }
                let account = self.accounts.entry(key).or_default();
                account.nonce = random.below(0x80_u8);
                account.balance = balance(random);
                if random.below(4_u32) == 0 {
                    account.code = Some(random.array());
                }
                // whatever root the caller writes, the store puts in its own
                batch.insert(StateKey::account(key), Some(account.value(&random.array())));
                continue;
            }
            // most changes of slots are of few accounts
            let busy = &known[..known.len().min(1 + random.below(4_usize) * known.len() / 4)];
            let Some(account) = pick(&busy[..busy.len().min(6)], random) else { continue };
            let Some(found) = self.accounts.get_mut(&account) else { continue };
            let slots: Vec<_> = found.slots.keys().copied().collect();
            found.forget_root();
            let slot = match pick(&slots, random) {
                Some(slot) if removes || random.below(4_u32) == 0 => slot,
                _ => mood.draw.key(random),
            };
            let value = (!removes).then(|| slot_value(random));
            match &value {
                Some(value) => _ = found.slots.insert(slot, value.clone()),
                None => _ = found.slots.remove(&slot),
            }
            batch.insert(StateKey::slot(account, slot), value);
        }
        batch
    }

    /// Removes everything, some accounts at a time.
    pub fn remove_some(&mut self, count: usize) -> Batch {
        let gone: Vec<_> = self.accounts.keys().copied().take(count).collect();
        gone.iter().for_each(|key| _ = self.accounts.remove(key));
        gone.into_iter().map(|key| (StateKey::account(key), None)).collect()
    }

    /// The state root by the definition.
    pub fn root(&mut self) -> [u8; 32] {
        let leaf = |(key, account): (&[u8; 32], &mut Account)| {
            let root = account.root();
            (key.to_vec(), account.value(&root))
        };
        naive(self.accounts.iter_mut().map(leaf))
    }

    /// Every key with its value, as the store should have them.
    pub fn pairs(&mut self) -> Vec<(StateKey, Vec<u8>)> {
        let mut pairs = vec![];
        for (key, account) in &mut self.accounts {
            let root = account.root();
            pairs.push((StateKey::account(*key), account.value(&root)));
            let slots = account.slots.iter();
            pairs.extend(slots.map(|(slot, value)| (StateKey::slot(*key, *slot), value.clone())));
        }
        pairs
    }
}

/// A batch as the store takes it.
pub fn changes(batch: &Batch) -> Vec<Change<'_>> {
    batch.iter().map(|(key, value)| Change { key: *key, value: value.as_deref() }).collect()
}

/// Reads everything back one by one, and asks for what is not there.
pub fn assert_holds(pages: &Pages, world: &mut World, random: &mut Random) {
    assert_eq!(pages.root(), world.root());
    let mut out = vec![];
    for (key, value) in world.pairs() {
        out.clear();
        assert!(pages.get(&key, &mut out).unwrap(), "{key:?} is not there");
        assert_eq!(out, value, "{key:?}");
        let mut absent = key;
        let part = absent.slot.as_mut().unwrap_or(&mut absent.account);
        random.flip(part);
        let is_there =
            world.accounts.get(&absent.account).is_some_and(|account| match absent.slot {
                None => true,
                Some(slot) => account.slots.contains_key(&slot),
            });
        assert_eq!(pages.get(&absent, &mut vec![]).unwrap(), is_there);
    }
}
