//! Runs witnesses of headers that are not of standard form (`Blockchain.verifyHeaderWitnesses`).

use super::rules::Parent;
use crate::execute::{
    admit::MAX_VERIFICATION_GAS,
    block::{BlockError, Executor, machine},
    chain_view::ChainView,
    engine::{Chain, SharedContext},
    native::Natives,
};
use crate::params::Protocol;
use crate::state::{Base, State};
use crate::types::{Block, Header};
use crate::witness::Verdict;
use blockmill_hashes::ManySha256;

/// Runs witnesses of headers over the state after the genesis block: they are verified without the
/// state of the chain.
pub(crate) struct HeaderMachine {
    chain: Chain,
    executor: Executor,
    state: State,
}

impl HeaderMachine {
    /// Executes the genesis block.
    ///
    /// # Errors
    /// Returns [`BlockError`] if its execution fails.
    pub fn new(protocol: &Protocol) -> Result<Self, BlockError> {
        let natives = Natives::default();
        let chain = Chain { protocol: protocol.clone(), natives, view: ChainView::empty() };
        let (mut executor, mut state) = (Executor::default(), State::new(Base::default()));
        let mut genesis = Block { raw: protocol.genesis_block(), ..Block::default() };
        let decoded = genesis.decode(protocol.state_root_in_header, &ManySha256::detect());
        if decoded.is_ok() {
            executor.execute(&mut machine(), &chain, &mut state, &genesis)?;
        }
        Ok(Self { chain, executor, state })
    }

    /// The verdict on the header witness of a block after `parent`.
    pub fn verdict(&mut self, parent: &Parent, block: &Block) -> Verdict {
        let Parent { index, timestamp, next_consensus, .. } = *parent;
        // the header's hash is signed
        let header = Header { index, timestamp, next_consensus, ..Header::default() };
        let before = Block { header, hash: block.hash, ..Block::default() };
        let signed = (None, next_consensus, block.witness());
        let limit = (MAX_VERIFICATION_GAS, &mut SharedContext::default());
        let (vm, ground) = (&mut machine(), (&self.chain, &before));
        match self.executor.satisfies(vm, ground, &mut self.state, signed, limit) {
            Ok(_) => Verdict::Valid { units: 0 },
            Err(_) => Verdict::Invalid,
        }
    }
}
