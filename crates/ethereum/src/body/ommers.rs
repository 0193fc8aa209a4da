//! Rules about ommers under proof of work (Yellow Paper 11.1): at most two in a block, each a
//! child of one of the block's ancestors 2 to 7, valid as a header, and rewarded once.
//!
//! Seals of ommers are for the caller.

use crate::header::HeaderView;
use crate::header::rules::{verify_contents, verify_linkage};
use crate::params::ChainSpec;
use crate::rule::{Rule, Violation};
use crate::{Hash, U256};
use blockmill_verdict::Hex;
use std::collections::VecDeque;

/// A block has at most this many ommers.
pub(crate) const MAX_OMMERS: usize = 2;
/// The ancestors that matter: the parent and the six blocks before it.
pub(crate) const GENERATIONS: usize = 7;

/// What ommers of later blocks need to know about a block.
#[derive(Clone, Debug)]
pub struct Ancestor {
    hash: Hash,
    header: Vec<u8>,
    ommers: Vec<Hash>,
}

impl Ancestor {
    /// A verified block: its hash, its header, the headers of its ommers.
    pub fn new(hash: Hash, header: &HeaderView<'_>, ommers: &[HeaderView<'_>]) -> Self {
        let ommers = ommers.iter().map(HeaderView::hash).collect();
        Self { hash, header: header.raw.to_vec(), ommers }
    }

    /// An ancestor from hashes and the encoded header.
    pub(crate) fn from_parts(hash: Hash, header: Vec<u8>, ommers: Vec<Hash>) -> Self {
        Self { hash, header, ommers }
    }

    /// Hash, header, hashes of the ommers.
    pub(crate) fn parts(&self) -> (&Hash, &[u8], &[Hash]) {
        (&self.hash, &self.header, &self.ommers)
    }
}

/// The last seven blocks of a chain.
#[derive(Clone, Debug, Default)]
pub struct AncestorWindow {
    /// Oldest first.
    blocks: VecDeque<Ancestor>,
}

impl AncestorWindow {
    /// Adds the block that follows; the eighth before it is forgotten.
    pub fn push(&mut self, block: Ancestor) {
        if self.blocks.len() == GENERATIONS {
            self.blocks.pop_front();
        }
        self.blocks.push_back(block);
    }

    /// The blocks, oldest first.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Ancestor> {
        self.blocks.iter()
    }

    /// Checks the ommers of the block that follows the window. Returns how many could not be
    /// checked because their parent is before the first block of an archive that begins in
    /// the middle of a chain.
    pub fn verify_ommers(
        &self,
        spec: &ChainSpec,
        header: &HeaderView<'_>,
        ommers: &[HeaderView<'_>],
    ) -> Result<usize, Violation> {
        if ommers.len() > MAX_OMMERS {
            return Err(Violation::new(Rule::OmmerCount, "at most 2", ommers.len()));
        }
        let mut unchecked = 0;
        let mut seen: Vec<Hash> = Vec::with_capacity(MAX_OMMERS);
        for ommer in ommers {
            let hash = ommer.hash();
            self.first_time(&seen, &hash)?;
            seen.push(hash);
            match self.parent(header, ommer) {
                Some(parent) => verify_ommer(spec, parent, ommer)?,
                None if self.is_before(header, ommer) => unchecked += 1,
                None => {
                    let expected = "the hash of an ancestor, 2 to 7 blocks back";
                    let found = Hex(ommer.parent_hash);
                    return Err(Violation::new(Rule::OmmerParent, expected, found));
                }
            }
        }
        Ok(unchecked)
    }

    /// An ommer is no ancestor, and no ommer of this block (`seen`) or of an ancestor already.
    fn first_time(&self, seen: &[Hash], hash: &Hash) -> Result<(), Violation> {
        if self.blocks.iter().any(|block| block.hash == *hash) {
            let expected = "a block outside of this chain";
            return Err(Violation::new(Rule::OmmerIsAncestor, expected, Hex(hash)));
        }
        if seen.contains(hash) || self.blocks.iter().any(|block| block.ommers.contains(hash)) {
            let expected = "a block that is no ommer yet";
            return Err(Violation::new(Rule::OmmerDuplicate, expected, Hex(hash)));
        }
        Ok(())
    }

    /// The ommer's parent in the window. A sibling of the block itself has none.
    fn parent(&self, header: &HeaderView<'_>, ommer: &HeaderView<'_>) -> Option<&Ancestor> {
        let sibling = ommer.parent_hash == header.parent_hash;
        self.blocks.iter().find(|block| !sibling && block.hash == *ommer.parent_hash)
    }

    /// Whether the parent of this ommer is recent enough, but older than all that is known.
    fn is_before(&self, header: &HeaderView<'_>, ommer: &HeaderView<'_>) -> bool {
        let known = self.blocks.len() as u64;
        let distance = header.number.saturating_sub(ommer.number).saturating_add(1);
        known < header.number.min(GENERATIONS as u64)
            && distance > known
            && distance <= GENERATIONS as u64
    }
}

/// Checks the rules of headers on an ommer and its own parent; its time may be in the future.
fn verify_ommer(
    spec: &ChainSpec,
    parent: &Ancestor,
    ommer: &HeaderView<'_>,
) -> Result<(), Violation> {
    let header = HeaderView::decode(&parent.header).map_err(|error| {
        Violation::new(Rule::HeaderEncoding, "the header of an ancestor", error)
    })?;
    verify_linkage(header.number, &parent.hash, ommer)?;
    if ommer.difficulty == U256::ZERO {
        return Err(Violation::new(Rule::Merge, "an ommer with proof of work", "difficulty 0"));
    }
    verify_contents(spec, &header, ommer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Header;
    use blockmill_rlp::Encode;

    /// Ten mainnet blocks that follow the rules, genesis first.
    fn chain(spec: &ChainSpec) -> Vec<Header> {
        let mut blocks = vec![spec.genesis.header.clone()];
        for _ in 1..10 {
            blocks.push(child(spec, &blocks[blocks.len() - 1], 13));
        }
        blocks
    }

    /// A valid block, `wait` seconds after its parent.
    fn child(spec: &ChainSpec, parent: &Header, wait: u64) -> Header {
        let (number, timestamp) = (parent.number + 1, parent.timestamp + wait);
        let fields = crate::header::difficulty::Parent::from(&parent.view(&[]));
        let difficulty = spec.rules_at(number, timestamp).difficulty.next(timestamp, &fields);
        Header {
            parent_hash: parent.hash(),
            number,
            timestamp,
            difficulty: difficulty.unwrap(),
            gas_limit: 5_000,
            ..Header::default()
        }
    }

    fn window(blocks: &[Header], ommers: &[Header]) -> AncestorWindow {
        let mut window = AncestorWindow::default();
        for (i, block) in blocks.iter().enumerate() {
            let encoded: Vec<_> = ommers.iter().map(Encode::encode).collect();
            let views: Vec<_> = ommers.iter().zip(&encoded).map(|(o, raw)| o.view(raw)).collect();
            let ommers = if i + 1 == blocks.len() { &views[..] } else { &[] };
            let raw = block.encode();
            window.push(Ancestor::new(block.hash(), &block.view(&raw), ommers));
        }
        window
    }

    /// The verdict on block 9 with these ommers, on top of blocks `from` to 8.
    fn verdict(from: usize, ommers: &[Header], earlier: &[Header]) -> Result<usize, Rule> {
        let spec = ChainSpec::by_name("mainnet").unwrap();
        let blocks = chain(&spec);
        let encoded: Vec<_> = ommers.iter().map(Encode::encode).collect();
        let views: Vec<_> = ommers.iter().zip(&encoded).map(|(o, raw)| o.view(raw)).collect();
        let header = blocks[9].encode();
        window(&blocks[from..9], earlier)
            .verify_ommers(&spec, &blocks[9].view(&header), &views)
            .map_err(|broken| broken.rule)
    }

    /// A valid ommer whose parent is block `number` of the chain.
    fn ommer_on(number: usize) -> Header {
        let spec = ChainSpec::by_name("mainnet").unwrap();
        child(&spec, &chain(&spec)[number], 20)
    }

    #[test]
    fn accepts_children_of_the_ancestors_two_to_seven() {
        for parent in 2..=7 {
            assert_eq!(verdict(0, &[ommer_on(parent)], &[]), Ok(0), "{parent}");
        }
        assert_eq!(verdict(0, &[ommer_on(7), ommer_on(5)], &[]), Ok(0));
    }

    #[test]
    fn rejects_ommers_with_the_wrong_parent() {
        assert_eq!(verdict(0, &[ommer_on(8)], &[]), Err(Rule::OmmerParent), "a sibling");
        assert_eq!(verdict(0, &[ommer_on(1)], &[]), Err(Rule::OmmerParent), "too old");
        assert_eq!(verdict(0, &[Header::default()], &[]), Err(Rule::OmmerParent));
    }

    #[test]
    fn rejects_a_third_ommer_and_ommers_met_before() {
        let ommers = [ommer_on(7), ommer_on(6), ommer_on(5)];
        assert_eq!(verdict(0, &ommers, &[]), Err(Rule::OmmerCount));
        assert_eq!(verdict(0, &[ommer_on(7), ommer_on(7)], &[]), Err(Rule::OmmerDuplicate));
        assert_eq!(verdict(0, &[ommer_on(6)], &[ommer_on(6)]), Err(Rule::OmmerDuplicate));
        let ancestor = chain(&ChainSpec::by_name("mainnet").unwrap())[8].clone();
        assert_eq!(verdict(0, &[ancestor], &[]), Err(Rule::OmmerIsAncestor));
    }

    #[test]
    fn rejects_ommers_that_break_a_header_rule() {
        let late = Header { timestamp: 0, ..ommer_on(6) };
        assert_eq!(verdict(0, &[late], &[]), Err(Rule::Timestamp));
        let easy = Header { difficulty: U256::ONE, ..ommer_on(6) };
        assert_eq!(verdict(0, &[easy], &[]), Err(Rule::Difficulty));
        let high = Header { number: 100, ..ommer_on(6) };
        assert_eq!(verdict(0, &[high], &[]), Err(Rule::Number));
    }

    #[test]
    fn ommers_of_blocks_before_an_anchor_cannot_be_checked() {
        assert_eq!(verdict(6, &[ommer_on(5)], &[]), Ok(1));
        assert_eq!(verdict(6, &[ommer_on(1)], &[]), Err(Rule::OmmerParent), "too old all the same");
        assert_eq!(verdict(6, &[ommer_on(7)], &[]), Ok(0));
    }
}
