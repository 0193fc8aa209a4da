//! Blocks that are made: what execution determines is filled into their headers.

use super::verify::run;
use super::{Evm, Executed, ExecutionError, PreparedBlock, Replay};
use crate::Address;
use crate::body::BodyView;
use crate::error::{Rule, Violation};
use crate::header::Header;
use blockmill_rlp::Encode;

impl Replay<'_> {
    /// Executes a block whose header says everything but what follows from that, fills it in (gas
    /// used, requests hash, receipts root, logs bloom, state root), and goes on behind the block.
    ///
    /// The senders are those of the transactions, whose form nobody checks here.
    ///
    /// # Errors
    /// A body that does not decode; a transaction that is not valid. The state must not be used any
    /// more then.
    pub fn produce(
        &mut self,
        header: &mut Header,
        body: &[u8],
        senders: &[Address],
    ) -> Result<(), ExecutionError> {
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
        let (root, bloom) = self.receipts.make(&block, &executed.outcomes, &roots);
        (header.receipts_root, *header.logs_bloom) = (root, bloom);
        self.state.ancestors.push(header.number, header.hash());
        Ok(())
    }
}
