//! What executions leave beside the state: transfers of tokens by account.
//!
//! The bytes are in `docs/formats/neo-logs.md`.

mod read;
mod transfers;

pub use read::{Event, transfer_of};
pub use transfers::{
    Movement, Place, Standard, TRANSFERS, Transfer, TransferError, Transfers, UPDATES,
    last_updates, of_account,
};
