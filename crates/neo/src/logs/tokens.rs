//! Which of a block's notifications are transfers, and of which tokens.

use super::{Event, Movement, transfer_of};
use crate::execute::block::Executed;
use crate::execute::contract::Contract;
use crate::execute::native::{Natives, management};
use crate::state::Change;
use crate::types::UInt160;
use blockmill_store::TableReader;
use hashbrown::HashMap;

/// A transfer of a block: its execution, the id of the token's contract, what it moves.
pub type Told = (u32, i32, Movement);

/// The contracts of tokens, as they were before the block that is looked at.
///
/// neo-go's task that writes transfers has caches of its own, so it does not know contracts that
/// the same block deploys (`Blockchain.processTokenTransfer`).
pub struct Tokens {
    natives: Natives,
    /// Ids of contracts; none of those that are not there.
    known: HashMap<[u8; 20], Option<i32>>,
    /// The state as of the last commit.
    storage: TableReader,
}

impl Tokens {
    /// Contracts that did not change since are read from `storage`.
    #[must_use]
    pub fn new(storage: TableReader) -> Self {
        Self { natives: Natives::default(), known: HashMap::new(), storage }
    }

    /// The transfers of the next block in order.
    ///
    /// # Errors
    /// Those of reading the table.
    pub fn transfers(&mut self, executed: &Executed) -> blockmill_store::Result<Vec<Told>> {
        let mut told = Vec::new();
        for (number, execution) in (0..).zip(&executed.executions) {
            // what fails transfers nothing
            if execution.fault.is_some() {
                continue;
            }
            for event in &execution.notifications {
                let (contract, name) = (event.contract, &*event.name);
                let movement = transfer_of(&Event { contract, name, state: &event.state });
                let Some(movement) = movement else { continue };
                if let Some(id) = self.id(contract)? {
                    told.push((number, id, movement));
                }
            }
        }
        self.learn(&executed.changes);
        Ok(told)
    }

    fn id(&mut self, contract: UInt160) -> blockmill_store::Result<Option<i32>> {
        if let Some(native) = self.natives.get(&contract.0) {
            return Ok(Some(native.id()));
        }
        if let Some(id) = self.known.get(&contract.0) {
            return Ok(*id);
        }
        // it did not change since this run began, so any commit of it has it as it is
        let mut record = Vec::new();
        let live = match management::key_of(&contract.0) {
            Some(key) => self.storage.snapshot().get(key.as_slice(), &mut record)?,
            None => false,
        };
        let id = if live { id_in(&record) } else { None };
        self.known.insert(contract.0, id);
        Ok(id)
    }

    /// Contracts that a block deployed, updated or removed are known from the next one on.
    fn learn(&mut self, changes: &[Change]) {
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
