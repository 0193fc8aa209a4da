//! State dumps of clients: JSON lines, the first one with the state root, then one line for each
//! account. `geth dump --iterative` and `geth snapshot dump` write them (go-ethereum 1.17,
//! `core/state/dump.go` and `cmd/geth/snapshot.go`), and `reth init-state` reads them. Format:
//! `docs/formats/state-dump.md`.
//!
//! A dump is read in order and in bounded memory, whatever the length of its lines. The slots of an
//! account are sorted by their keys, in temporary files if there are many, and the storage root is
//! compared with that of the line. Accounts may be in any order.

mod fields;
mod json;
mod read;
mod slots;
#[cfg(test)]
mod tests;
mod write;

pub use read::{Dumped, StateDump, TakeDump};
pub use write::{WriteError, Written, write_disk_state, write_state};

use crate::state::Account;
use crate::{Address, Hash, U256};

/// How the storage of an account is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotForm {
    /// Slots and their values, without leading zeros: `geth dump`.
    Plain,
    /// Keccak-256 of the slots, and the RLP of the values: `geth snapshot dump`.
    Hashed,
}

/// An entry of a dump. A code precedes the first account that has it, and an account precedes its
/// slots, which follow in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub enum DumpEntry<'a> {
    /// A code and its hash.
    Code(&'a Hash, &'a [u8]),
    /// An account.
    Account {
        /// Keccak-256 of its address.
        key: &'a Hash,
        /// Its address, if the dump has it.
        address: Option<&'a Address>,
        /// Nonce, balance, hash of the code.
        account: &'a Account,
        /// The root of its storage, as computed from its slots.
        storage_root: &'a Hash,
    },
    /// A slot of the last account.
    Slot {
        /// Keccak-256 of the account's address.
        account: &'a Hash,
        /// Keccak-256 of the slot.
        key: &'a Hash,
        /// The slot, if the dump has it.
        slot: Option<U256>,
        /// Its value, which is not 0.
        value: U256,
    },
}
