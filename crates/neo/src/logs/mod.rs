//! What executions leave beside the state: application logs, transfers of tokens by account.
//!
//! The bytes are in `docs/formats/neo-logs.md`.

pub mod application;
mod read;
mod tokens;
mod transfers;

pub use read::{Event, transfer_of};
pub use tokens::{Tokens, Told};
pub use transfers::{
    Movement, Place, Standard, TRANSFERS, Transfer, TransferError, Transfers, UPDATES,
    last_updates, of_account,
};
