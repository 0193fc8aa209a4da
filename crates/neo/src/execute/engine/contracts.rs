//! A cache of decoded contracts.

use hashbrown::HashMap;
use std::sync::Arc;

use super::{Contract, Engine, Value, native};
use crate::execute::interop::keys;
use crate::types::PublicKey;

/// Decoded contracts with their bytes.
#[derive(Default)]
pub struct Contracts {
    known: HashMap<[u8; 20], (Value, Arc<Contract>)>,
    /// Results of lookups since the last change of ContractManagement. Most lookups are for
    /// accounts that are not contracts.
    answers: HashMap<[u8; 20], Option<Arc<Contract>>>,
    /// The version of ContractManagement's storage at that change.
    version: u64,
    /// The accounts of keys; every block needs those of the committee.
    accounts: HashMap<PublicKey, [u8; 20]>,
}

/// Limit of each cache.
const KEPT: usize = 1 << 16;

impl Engine<'_> {
    /// A contract by its hash.
    #[must_use]
    pub fn contract(&mut self, hash: &[u8; 20]) -> Option<Arc<Contract>> {
        let version = self.state.version(&[native::management::ID]);
        if self.contracts.version != version || self.contracts.answers.len() >= KEPT {
            self.contracts.answers.clear();
            self.contracts.version = version;
        }
        if let Some(answer) = self.contracts.answers.get(hash) {
            return answer.clone();
        }
        let answer = self.stored_contract(hash);
        self.contracts.answers.insert(*hash, answer.clone());
        answer
    }

    /// The account of a key.
    pub fn account_of(&mut self, key: &PublicKey) -> [u8; 20] {
        let accounts = &mut self.contracts.accounts;
        if accounts.len() >= KEPT {
            accounts.clear();
        }
        *accounts.entry(*key).or_insert_with(|| keys::account(key))
    }

    fn stored_contract(&mut self, hash: &[u8; 20]) -> Option<Arc<Contract>> {
        let value = native::management::stored(self.state, hash)?;
        if let Some((known, contract)) = self.contracts.known.get(hash)
            && *known == value
        {
            return Some(Arc::clone(contract));
        }
        let contract = Arc::new(Contract::decode(&value).ok()?);
        if self.contracts.known.len() >= KEPT {
            self.contracts.known.clear();
        }
        self.contracts.known.insert(*hash, (value, Arc::clone(&contract)));
        Some(contract)
    }
}
