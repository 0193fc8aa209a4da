//! Results of executions other than the state: application logs, and token transfers by account.
//!
//! Bytes: `docs/formats/neo-logs.md`.

pub mod application;
mod read;
mod tokens;
mod transfers;

pub use crate::ledger::CachedTable;
pub use read::{Event, transfer_of};
pub use tokens::{TokenMovement, Tokens};
pub use transfers::{
    Movement, Place, Standard, TRANSFERS, Transfer, TransferError, UPDATES, entries, last_updates,
    of_account,
};
pub(crate) use transfers::{after, before, of_all, superseded, update_key};
