//! One hash over all state roots and application logs of a chain. Equal digests mean that every
//! block was executed with the same results.

use super::Ledger;
use crate::error::Error;
use crate::execute::engine::Execution;
use crate::types::UInt256;
use blockmill_hashes::sha256;

impl Ledger {
    /// The digest of all blocks. Each block adds SHA-256 of the digest so far, its state root and
    /// its executions. Numbers are little endian: gas has eight bytes, lengths and counts have
    /// four.
    ///
    /// # Errors
    /// Returns [`Error::Store`] or [`Error::StoredLog`] if a block, root or log cannot be read.
    pub fn digest(&self, state_root: bool) -> Result<[u8; 32], Error> {
        let mut digest = [0; 32];
        let mut height = 0;
        while let Some(executions) = self.executions(height, state_root)? {
            let mut bytes = digest.to_vec();
            bytes.extend_from_slice(&self.root_of(height)?.0);
            executions.iter().for_each(|execution| write(execution, &mut bytes));
            digest = sha256(&bytes);
            height += 1;
        }
        Ok(digest)
    }

    /// The state root after a block; zero if there is none.
    fn root_of(&self, height: u32) -> blockmill_store::Result<UInt256> {
        let mut root = Vec::new();
        let live = self.roots.reader().snapshot().get(&height.to_be_bytes(), &mut root)?;
        let root = UInt256::from_slice(&root).filter(|_| live);
        Ok(root.unwrap_or_default())
    }
}

fn write(execution: &Execution, into: &mut Vec<u8>) {
    into.extend_from_slice(&execution.container.0);
    into.push(execution.trigger as u8);
    into.push(u8::from(execution.fault.is_none()));
    into.extend_from_slice(&execution.gas.to_le_bytes());
    string(execution.fault.as_deref().unwrap_or_default().as_bytes(), into);
    count(execution.stack.len(), into);
    execution.stack.iter().for_each(|item| string(item, into));
    count(execution.notifications.len(), into);
    for notification in &execution.notifications {
        into.extend_from_slice(&notification.contract.0);
        string(notification.name.as_bytes(), into);
        string(&notification.state, into);
    }
}

fn string(bytes: &[u8], into: &mut Vec<u8>) {
    count(bytes.len(), into);
    into.extend_from_slice(bytes);
}

fn count(count: usize, into: &mut Vec<u8>) {
    into.extend_from_slice(&(count as u32).to_le_bytes());
}
