//! Finds the transfers among a block's notifications, with the ids of their token contracts.

use super::{Event, Movement, transfer_of};
use crate::execute::block::Executed;
use crate::execute::contract::Contract;
use crate::execute::native::{Natives, management};
use crate::state::Change;
use crate::types::UInt160;
use blockmill_store::TableReader;
use hashbrown::HashMap;

/// A transfer of a block: index of the execution, id of the token contract, and movement.
pub type TokenMovement = (u32, i32, Movement);

/// Ids of token contracts, as of the state before the current block.
///
/// neo-go's task for transfers has its own caches, so it does not see contracts that the same block
/// deploys (`Blockchain.processTokenTransfer`).
pub struct Tokens {
    natives: Natives,
    /// Ids of contracts; `None` for a hash without a contract.
    known: HashMap<[u8; 20], Option<i32>>,
    /// The state as of the last commit.
    storage: TableReader,
}

impl Tokens {
    /// Reads contracts that have not changed since from `storage`.
    #[must_use]
    pub fn new(storage: TableReader) -> Self {
        Self { natives: Natives::default(), known: HashMap::new(), storage }
    }

    /// The transfers of the next block, in order.
    ///
    /// # Errors
    /// Returns the error of the table if it cannot be read.
    pub fn transfers(
        &mut self,
        executed: &Executed,
    ) -> blockmill_store::Result<Vec<TokenMovement>> {
        let mut movements = Vec::new();
        for (number, execution) in (0..).zip(&executed.executions) {
            // a failed execution transfers nothing
            if execution.fault.is_some() {
                continue;
            }
            for event in &execution.notifications {
                let (contract, name) = (event.contract, &*event.name);
                let movement = transfer_of(&Event { contract, name, state: &event.state });
                let Some(movement) = movement else { continue };
                if let Some(id) = self.id(contract)? {
                    movements.push((number, id, movement));
                }
            }
        }
        self.note_contracts(&executed.changes);
        Ok(movements)
    }

    fn id(&mut self, contract: UInt160) -> blockmill_store::Result<Option<i32>> {
        if let Some(native) = self.natives.get(&contract.0) {
            return Ok(Some(native.id()));
        }
        if let Some(id) = self.known.get(&contract.0) {
            return Ok(*id);
        }
        // unchanged since the start of this run, so any commit has the current record
        let mut record = Vec::new();
        let live = match management::key_of(&contract.0) {
            Some(key) => self.storage.snapshot().get(key.as_slice(), &mut record)?,
            None => false,
        };
        let id = if live { id_in(&record) } else { None };
        self.known.insert(contract.0, id);
        Ok(id)
    }

    /// Updates the ids of contracts that a block deployed, updated or destroyed, for the next
    /// block.
    fn note_contracts(&mut self, changes: &[Change]) {
        for (key, value) in changes {
            if let Some(contract) = management::contract_of_key(key.id(), key.key()) {
                self.known.insert(contract, value.as_deref().and_then(id_in));
            }
        }
    }
}

fn id_in(record: &[u8]) -> Option<i32> {
    Contract::decode(record).ok().map(|contract| contract.id)
}
