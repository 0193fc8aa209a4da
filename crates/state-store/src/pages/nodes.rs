//! The nodes of the tries, for proofs. Nodes above the cells are encoded from the branches in
//! memory; below a reference there are leaves, from which the caller builds the nodes.

use blockmill_trie::codec::{Column, Ethereum};

use super::{
    Pages,
    branches::Branch,
    cell::{self, ACCOUNTS, Place, Record},
    hashing::write,
    read::{Found, append},
    subtree::{drain, extension},
};
use blockmill_store::Result;

/// The node at a place in a trie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeAt {
    /// The encoding of a branch, or of the extension above one.
    Node(Vec<u8>),
    /// All leaves below a reference at the place or above it, in the order of their keys.
    Leaves {
        /// Half-bytes from the root of the trie to the reference.
        depth: usize,
        /// Keys and values, as the leaves of the trie have them.
        leaves: Vec<([u8; 32], Vec<u8>)>,
    },
}

impl Pages {
    /// The node at the first `depth` nibbles of `key` in the trie of accounts, or in the storage
    /// trie of `account`; `None` if there is none.
    ///
    /// # Errors
    /// As [`Pages::get`].
    pub fn node(
        &self,
        account: Option<&[u8; 32]>,
        key: &[u8; 32],
        depth: usize,
    ) -> Result<Option<NodeAt>> {
        self.check_whole()?;
        let trie = match account {
            None => ACCOUNTS,
            Some(account) => match self.storage.get(account) {
                Some(trie) => *trie,
                None => return self.nested_leaves(account),
            },
        };
        let Some(child) = self.tries[trie as usize].top else { return Ok(None) };
        let mut found = Found { place: Place { trie, key: *key, depth: 0 }, child };
        while let Some(branch) = self.branch(&found)? {
            let Found { place, child } = &mut found;
            let parting = place.depth + branch.path.len();
            if depth == place.depth || depth == parting {
                return Ok(Some(NodeAt::Node(encode(&branch, depth == parting))));
            }
            let half = blockmill_trie::nibbles::nibble(key, parting);
            let Some(next) = branch.get(half).filter(|_| depth > parting) else { return Ok(None) };
            (*child, place.depth) = (*next, parting + 1);
        }
        self.leaves_of(found).map(Some)
    }

    fn leaves_of(&self, found: Found) -> Result<NodeAt> {
        let mut leaves = vec![];
        self.leaves_below(&found, &mut |entry| {
            let mut value = vec![];
            append(entry, &mut value);
            leaves.push((entry.key, value));
        })?;
        Ok(NodeAt::Leaves { depth: found.place.depth, leaves })
    }

    /// The slots in the entry of an account.
    fn nested_leaves(&self, account: &[u8; 32]) -> Result<Option<NodeAt>> {
        let Some(found) = self.cell_of(ACCOUNTS, account)? else { return Ok(None) };
        let record = self.peek(&found)?;
        let mut entries = Record::new(&record).into_iter().flat_map(Record::entries);
        let entry = entries.find(|entry| entry.key == *account);
        Ok(entry.map(|entry| {
            let leaves = cell::nested(&entry.nested).map(|(key, value)| (key, value.to_vec()));
            NodeAt::Leaves { depth: 0, leaves: leaves.collect() }
        }))
    }
}

/// The node of a branch, or the extension above it.
fn encode(branch: &Branch, own: bool) -> Vec<u8> {
    let codec = Ethereum::new();
    let (mut node, mut above) = (Column::default(), Column::default());
    write(&codec, branch, |_| None, &mut node);
    if own {
        return node.bytes;
    }
    let path = &branch.path;
    drain(&mut node, &codec, |_, reference| {
        extension(&codec, path.iter().copied(), &reference, &mut above);
    });
    above.bytes
}
