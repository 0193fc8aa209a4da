//! The tries over the state: they turn the changes of a block into the state root.

use super::arena::{ArenaTries, PlantedTries};
use super::{AccountId, Changes, HashedChanges, NodeSet, SharedState, SparseTrie, StateError};
use crate::{Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_trie::EMPTY_ROOT;
use hashbrown::HashMap;

/// The trie of accounts and the storage tries.
#[derive(Debug)]
pub struct Tries(Variant);

#[derive(Debug)]
enum Variant {
    Pointers(Box<Pointers>),
    Arena(Box<ArenaTries>),
    /// The tries of a witness.
    Planted(PlantedTries),
    /// The tries of a state on disk, and the hasher of keys.
    Disk(SharedState, ManyKeccak),
}

/// Storage that an account lost as a whole.
#[derive(Clone, Debug)]
pub struct ClearedStorage {
    /// The account.
    pub id: AccountId,
    /// Slots by their hashes, and their values.
    pub slots: Vec<(Hash, U256)>,
}

blockmill_pipeline::named_option! {
    /// How a block changes the tries of the state.
    pub enum TrieLayout: "state-trie", level Execution {
        /// Key by key, in nodes that point to each other.
        Pointers = "pointers",
        /// All keys of the block together, in one arena.
        Arena = "arena",
    }
}

blockmill_pipeline::named_option! {
    /// With `state-trie=arena`: how the nodes of tries are hashed, and addresses and slots to keys.
    pub enum NodeHashes: "trie-hash", level Execution {
        /// One at a time.
        Single = "single",
        /// Several at a time in vector lanes.
        Lanes = "lanes",
    }
}

/// How tries in arenas hash.
#[derive(Clone, Copy, Debug)]
pub struct TrieHashers {
    /// Addresses and slots, of which keys are the hashes.
    pub keys: ManyKeccak,
    /// Nodes.
    pub nodes: ManyKeccak,
}

impl TrieHashers {
    /// The hash functions for this value of the option.
    #[must_use]
    pub fn new(hashes: NodeHashes) -> Self {
        match hashes {
            NodeHashes::Single => Self { keys: ManyKeccak::scalar(), nodes: ManyKeccak::scalar() },
            NodeHashes::Lanes => Self::default(),
        }
    }
}

impl Default for TrieHashers {
    /// As many at once as the CPU can.
    fn default() -> Self {
        Self { keys: ManyKeccak::detect(), nodes: ManyKeccak::detect() }
    }
}

impl Tries {
    /// Empty tries in arenas: the fast layout.
    ///
    /// # Errors
    /// More tries than numbers.
    pub fn arena() -> Result<Self, StateError> {
        Self::arena_with(TrieHashers::default())
    }

    /// Empty tries in arenas with these hashers.
    ///
    /// # Errors
    /// More tries than numbers.
    pub fn arena_with(hashers: TrieHashers) -> Result<Self, StateError> {
        Ok(Self(Variant::Arena(Box::new(ArenaTries::new(hashers)?))))
    }

    /// Empty tries of pointers: the simple layout.
    #[must_use]
    pub fn pointers() -> Self {
        Self(Variant::Pointers(Box::default()))
    }

    /// The tries of a state on disk.
    #[must_use]
    pub fn on_disk(disk: SharedState, hashers: TrieHashers) -> Self {
        Self(Variant::Disk(disk, hashers.keys))
    }

    /// The state on disk; `None` for tries in memory.
    #[must_use]
    pub fn disk(&self) -> Option<&SharedState> {
        match &self.0 {
            Variant::Disk(disk, _) => Some(disk),
            _ => None,
        }
    }

    /// The storage on disk that these changes clear as a whole. Slots in memory are listed in the
    /// changes.
    ///
    /// # Errors
    /// Corruption; those of the system.
    pub fn cleared_storage<'c>(
        &self,
        steps: impl IntoIterator<Item = &'c Changes>,
    ) -> Result<Vec<ClearedStorage>, StateError> {
        let Variant::Disk(disk, _) = &self.0 else { return Ok(vec![]) };
        let mut lost: Vec<ClearedStorage> = vec![];
        for step in steps {
            for id in &step.cleared {
                let change = step.accounts.iter().find(|change| change.id == *id);
                let Some(change) = change.filter(|_| lost.iter().all(|lost| lost.id != *id)) else {
                    continue;
                };
                let slots = disk.read().storage(&blockmill_hashes::keccak256(&change.address))?;
                lost.push(ClearedStorage { id: *id, slots });
            }
        }
        Ok(lost)
    }

    /// The tries of a witness in arenas, which only accept.
    #[must_use]
    pub fn planted(tries: PlantedTries) -> Self {
        Self(Variant::Planted(tries))
    }

    /// Tries of pointers of which these nodes are known: the oracle of those in arenas. They read a
    /// node when a change reaches it.
    #[must_use]
    pub fn from_nodes(root: Hash, nodes: NodeSet) -> Self {
        let accounts = SparseTrie::unread(root);
        let pointers =
            Pointers { accounts, storage: HashMap::default(), nodes: Some((nodes, root)) };
        Self(Variant::Pointers(Box::new(pointers)))
    }

    /// The state root after `changes`.
    ///
    /// # Errors
    /// A node that is not known; more nodes than memory. The tries must not be used any more then.
    pub fn apply(&mut self, changes: &Changes) -> Result<Hash, StateError> {
        match &mut self.0 {
            Variant::Pointers(tries) => tries.apply(changes),
            Variant::Arena(tries) => tries.apply(changes),
            Variant::Planted(tries) => tries.apply(changes),
            Variant::Disk(disk, hasher) => {
                let codes = changes.codes.iter().map(|(hash, code)| (hash, code));
                disk.apply(&HashedChanges::from_changes(changes, *hasher), codes)
            }
        }
    }

    /// The state roots after each of consecutive changes. In arenas the nodes of all versions are
    /// hashed together, which pays for small changes.
    ///
    /// # Errors
    /// [`StateError`] if a node is not known or cannot be read. The tries must not be used any more
    /// then.
    pub fn apply_group(&mut self, group: &[&Changes]) -> Result<Vec<Hash>, StateError> {
        match &mut self.0 {
            Variant::Arena(tries) if group.len() > 1 => tries.apply_group(group),
            _ => group.iter().map(|changes| self.apply(changes)).collect(),
        }
    }

    /// The state root.
    ///
    /// # Errors
    /// None, as long as no error came before.
    pub fn root(&mut self) -> Result<Hash, StateError> {
        match &mut self.0 {
            Variant::Pointers(tries) => Ok(tries.accounts.root()),
            Variant::Arena(tries) => tries.root(),
            Variant::Planted(tries) => tries.root(),
            Variant::Disk(disk, _) => Ok(disk.read().root()),
        }
    }
}

/// A trie of pointers for each account that has storage, and one for the accounts.
#[derive(Debug, Default)]
struct Pointers {
    accounts: SparseTrie,
    /// Storage tries by account, with the roots of their unread nodes.
    storage: HashMap<AccountId, (SparseTrie, Hash)>,
    /// Unread nodes, and their root.
    nodes: Option<(NodeSet, Hash)>,
}

impl Pointers {
    /// The state root after `changes`.
    ///
    /// # Errors
    /// A node that is not known.
    fn apply(&mut self, changes: &Changes) -> Result<Hash, StateError> {
        let none = NodeSet::default();
        let nodes = self.nodes.as_ref().map_or(&none, |(nodes, _)| nodes);
        for id in &changes.cleared {
            self.storage.insert(*id, (SparseTrie::default(), EMPTY_ROOT));
        }
        let mut last: HashMap<(AccountId, U256), U256> = HashMap::new();
        for change in &changes.slots {
            last.insert((change.id, change.slot), change.after);
        }
        let mut order: Vec<_> = last.into_iter().collect();
        order.sort_unstable();
        let addresses: HashMap<AccountId, &crate::Address> =
            changes.accounts.iter().map(|change| (change.id, &change.address)).collect();
        for (((id, _), value), key) in order.iter().zip(slot_keys(&order)) {
            if !self.storage.contains_key(id) {
                let root = match (&self.nodes, addresses.get(id)) {
                    (Some((nodes, root)), Some(address)) => {
                        nodes.account(root, address)?.map_or(EMPTY_ROOT, |found| found.1)
                    }
                    _ => EMPTY_ROOT,
                };
                self.storage.insert(*id, (SparseTrie::unread(root), root));
            }
            let Some((trie, root)) = self.storage.get_mut(id) else { continue };
            trie.set(&key, (!value.is_zero()).then(|| value.encode()), &nodes.below(*root))?;
        }
        let accounts = nodes.below(self.nodes.as_ref().map_or(EMPTY_ROOT, |(_, root)| *root));
        let addresses: Vec<&[u8]> = changes.accounts.iter().map(|one| &one.address[..]).collect();
        let mut keys = vec![[0; 32]; addresses.len()];
        ManyKeccak::detect().keccak256(&addresses, &mut keys);
        for (change, key) in changes.accounts.iter().zip(&keys) {
            let storage_root = match (self.storage.get_mut(&change.id), &self.nodes) {
                (Some((trie, _)), _) => trie.root(),
                (None, Some((nodes, root))) => {
                    nodes.account(root, &change.address)?.map_or(EMPTY_ROOT, |found| found.1)
                }
                (None, None) => EMPTY_ROOT,
            };
            let leaf = change.after.map(|account| {
                Leaf {
                    nonce: account.nonce,
                    balance: account.balance,
                    storage_root: &storage_root,
                    code_hash: &account.code_hash,
                }
                .encode()
            });
            self.accounts.set(key, leaf, &accounts)?;
        }
        Ok(self.accounts.root())
    }
}

/// The keys of slots in their tries, hashed in the lanes of the CPU.
fn slot_keys(slots: &[((AccountId, U256), U256)]) -> Vec<Hash> {
    let bytes: Vec<[u8; 32]> = slots.iter().map(|((_, slot), _)| slot.to_be_bytes()).collect();
    let messages: Vec<&[u8]> = bytes.iter().map(|slot| &slot[..]).collect();
    let mut keys = vec![[0; 32]; messages.len()];
    ManyKeccak::detect().keccak256(&messages, &mut keys);
    keys
}
