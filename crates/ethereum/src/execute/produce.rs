//! Produces blocks: fills in the header fields that execution determines.

use super::verify::run;
use super::{Evm, Executed, ExecutionError, PreparedBlock, Replay};
use crate::Address;
use crate::body::BodyView;
use crate::header::Header;
use crate::rule::{Rule, Violation};
use blockmill_rlp::Encode;

impl Replay<'_> {
    /// Executes a block and fills in gas used, requests hash, hash of the access list, receipts
    /// root, logs bloom and state root of its header. The state then is the one after the block.
    ///
    /// Returns the encoded access list, from Amsterdam on.
    ///
    /// `senders` are the senders of the transactions. The form of transactions is not checked.
    ///
    /// # Errors
    /// [`ExecutionError`] for a body that does not decode or a transaction that is not valid. The
    /// state must not be used any more then.
    pub fn produce(
        &mut self,
        header: &mut Header,
        body: &[u8],
        senders: &[Address],
    ) -> Result<Option<Vec<u8>>, ExecutionError> {
        let malformed = |error| Violation::new(Rule::Transaction, "a body that decodes", error);
        let view = BodyView::decode(body).map_err(malformed)?;
        let raw = header.encode();
        let block = PreparedBlock::new(self.spec, [0; 32], &header.view(&raw), &view, senders);
        let mut executed = Executed::default();
        let mut evm = Evm::new(&mut self.state, self.spec.chain_id);
        let totals = run(self.spec, &mut evm, &block, &mut executed)?;
        executed.changes = evm.state().take_changes();
        drop(evm);
        let mut roots = vec![];
        for step in &executed.steps {
            roots.push(self.tries.apply(step)?);
        }
        header.state_root = self.tries.apply(&executed.changes)?;
        header.gas_used = totals.gas_used;
        header.requests_hash = totals.requests_hash;
        let list = executed.access_list.as_ref().map(Encode::encode);
        header.block_access_list_hash = list.as_deref().map(blockmill_hashes::keccak256);
        let (root, bloom) = self.receipts.root_and_bloom(&block, &executed.outcomes, &roots);
        (header.receipts_root, *header.logs_bloom) = (root, bloom);
        self.state.ancestors.push(header.number, header.hash());
        Ok(list)
    }
}
