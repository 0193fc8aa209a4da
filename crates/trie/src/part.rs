//! Tries of which any threads hash parts of the leaves.
//!
//! The keys next to a range of leaves determine the encoding of every node of the range, except for
//! the branches that it shares with its neighbours: those on the common path of its first key and
//! the key before it, and likewise at its end. The nodes below these branches are returned, a few
//! for each part of any size, and joined in order.

use crate::RootBuilder;
use crate::branch::Reference;
use crate::nibbles::{MAX_KEY, common_prefix};

/// Children of a branch that parts share.
#[derive(Clone, Debug)]
pub(crate) struct Hung {
    /// A key below the branch.
    key: [u8; MAX_KEY],
    depth: usize,
    children: [Reference; 16],
    /// Deeper branches end with these children.
    shared_after: Option<usize>,
}

/// A stretch of a trie's leaves, hashed as far as it is known without the others.
#[derive(Clone, Debug, Default)]
pub struct TriePart {
    hung: Vec<Hung>,
    /// The root, if these are all leaves of the trie.
    root: Option<[u8; 32]>,
}

impl RootBuilder {
    /// Hashes a range of the leaves of a trie, `(key, value)` in ascending order of keys; `before`
    /// and `after` are the keys next to it.
    ///
    /// # Panics
    ///
    /// Panics if the keys are not strictly ascending.
    pub fn part<'k, V: AsRef<[u8]>>(
        &mut self,
        before: Option<&[u8; 32]>,
        leaves: impl IntoIterator<Item = (&'k [u8; 32], V)>,
        after: Option<&[u8; 32]>,
    ) -> TriePart {
        let mut leaves = leaves.into_iter().peekable();
        self.start();
        let Some((first, _)) = leaves.peek() else { return TriePart::default() };
        assert!(before.is_none_or(|before| before < *first), "keys do not ascend");
        self.shared_before = before.map(|before| common_prefix(before, *first));
        self.floor = self.shared_before;
        let mut last = [0; MAX_KEY];
        while let Some((key, value)) = leaves.next() {
            let next = leaves.peek().map(|(key, _)| *key).or(after);
            assert!(next.is_none_or(|next| key < next), "keys do not ascend");
            self.leaf(key, value.as_ref(), next.map(|next| &next[..]));
            last = *key;
        }
        self.flush();
        // the branches that the next part continues, the root first
        let from = self.hung.len();
        while let Some(depth) = self.deepest() {
            self.hand_over(&last, Some(depth));
        }
        self.hung[from..].reverse();
        TriePart { hung: std::mem::take(&mut self.hung), root: self.root.take() }
    }

    /// Leaves the children of the last open branch to whoever joins the parts.
    pub(crate) fn hand_over(&mut self, key: &[u8], shared_after: Option<usize>) {
        self.open -= 1;
        self.hang_closed();
        let branch = &self.branches[self.open];
        let (depth, children) = (branch.depth, *branch.children());
        let mut hung = Hung { key: [0; MAX_KEY], depth, children, shared_after: self.deepest() };
        hung.key.copy_from_slice(key);
        hung.shared_after = hung.shared_after.max(shared_after);
        self.hung.push(hung);
    }
}

/// Makes the root of a trie from its parts.
///
/// ```
/// use blockmill_trie::{PartJoiner, RootBuilder};
///
/// let leaves: Vec<_> = (0..100u8).map(|i| ([i; 32], [i])).collect();
/// let (low, high) = leaves.split_at(40);
/// let (last, next) = (&low[39].0, &high[0].0);
/// let low = low.iter().map(|(key, value)| (key, value));
/// let high = high.iter().map(|(key, value)| (key, value));
/// let first = RootBuilder::new().part(None, low, Some(next));
/// let second = RootBuilder::new().part(Some(last), high, None);
///
/// let mut joiner = PartJoiner::default();
/// joiner.join(&first);
/// joiner.join(&second);
/// assert_eq!(joiner.root(), RootBuilder::new().sorted(leaves));
/// ```
#[derive(Default)]
pub struct PartJoiner(RootBuilder);

impl PartJoiner {
    /// Adds the next part.
    pub fn join(&mut self, part: &TriePart) {
        let builder = &mut self.0;
        for hung in &part.hung {
            builder.branch_at(hung.depth).set_all(&hung.children);
            while builder.deepest() > hung.shared_after {
                builder.close_deepest(&hung.key, hung.shared_after);
            }
        }
        builder.root = builder.root.or(part.root);
    }

    /// Returns the root of the added parts and starts a new trie.
    pub fn root(&mut self) -> [u8; 32] {
        let root = self.0.finish();
        self.0.start();
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EMPTY_ROOT;

    /// Leaves under keys of which many share their beginnings.
    fn leaves(random: &mut blockmill_testkit::Random, count: usize) -> Vec<([u8; 32], Vec<u8>)> {
        let mut leaves: Vec<([u8; 32], Vec<u8>)> = vec![];
        for _ in 0..count {
            let mut key = [0; 32];
            random.fill(&mut key);
            if random.below(3_u8) > 0
                && let Some((other, _)) = leaves.get(random.below(leaves.len().max(1)))
            {
                let shared = random.below(65_usize);
                let (bytes, half) = (shared / 2, shared % 2 == 1);
                key[..bytes].copy_from_slice(&other[..bytes]);
                if half {
                    key[bytes] = other[bytes] & 0xf0 | key[bytes] & 0x0f;
                }
            }
            let mut value = vec![0; random.below(70_usize) + 1];
            random.fill(&mut value);
            leaves.push((key, value));
        }
        leaves.sort();
        leaves.dedup_by_key(|(key, _)| *key);
        leaves
    }

    #[test]
    fn parts_have_the_root_of_the_whole() {
        let mut random = blockmill_testkit::Random::new(16);
        let (mut builder, mut joiner) = (RootBuilder::new(), PartJoiner::default());
        assert_eq!(joiner.root(), EMPTY_ROOT);
        let mut parts_of_many = 0;
        for round in 0..3_000 {
            let count = if round % 100 == 0 { 2_000 } else { round % 12 };
            let leaves = leaves(&mut random, count);
            let expected = crate::root_of_sorted(leaves.iter().map(|(key, value)| (*key, value)));
            let (mut from, mut parts) = (0, 0);
            while from < leaves.len() {
                let most = if random.coin() { 3 } else { leaves.len() };
                let to = (from + 1 + random.below(most)).min(leaves.len());
                let before = from.checked_sub(1).map(|at| &leaves[at].0);
                let after = leaves.get(to).map(|(key, _)| key);
                let inside = leaves[from..to].iter().map(|(key, value)| (key, value));
                joiner.join(&builder.part(before, inside, after));
                (from, parts) = (to, parts + 1);
            }
            assert_eq!(joiner.root(), expected, "{parts} parts of {} leaves", leaves.len());
            parts_of_many += usize::from(parts > 3);
        }
        assert!(parts_of_many > 300, "{parts_of_many}");
    }

    #[test]
    fn a_part_hands_over_little() {
        let mut random = blockmill_testkit::Random::new(17);
        let all = leaves(&mut random, 20_000);
        let (middle, mut builder) = (&all[5_000..15_000], RootBuilder::new());
        let inside = middle.iter().map(|(key, value)| (key, value));
        let part = builder.part(Some(&all[4_999].0), inside, Some(&all[15_000].0));
        assert!(part.hung.len() < 128, "{}", part.hung.len());
    }
}
