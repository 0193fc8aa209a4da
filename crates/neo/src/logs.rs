//! What executions leave beside the state: application logs, transfers of tokens by account.
//!
//! The bytes are in `docs/formats/neo-logs.md`.

pub mod application;
mod read;
mod tokens;
mod transfers;

pub use crate::tasks::Kept;
pub use read::{Event, transfer_of};
pub use tokens::{Tokens, Told};
pub use transfers::{
    Movement, Place, Standard, TRANSFERS, Transfer, TransferError, UPDATES, entries, last_updates,
    of_account,
};
pub(crate) use transfers::{after, before, of_all, superseded, update_key};
