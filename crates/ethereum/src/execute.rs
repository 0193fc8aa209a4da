//! Execution of blocks.
//!
//! [`PreparedBlock`] has everything of a block that needs no state. [`execute`] changes the state
//! and returns the changes. [`receipts`] and the tries compare the rest with the header, on other
//! threads. The pipeline of level `execution` is in `stages`. The virtual machine is `revm`, and
//! [`evm`] is the only module that names it.

pub(crate) mod access_list;
mod addresses;
mod ancestors;
mod block;
mod block_gas;
mod code_cache;
mod dao;
pub mod evm;
pub mod history;
mod produce;
pub mod receipts;
mod replay;
mod requests;
mod rewards;
pub mod speculation;
pub(crate) mod stages;
mod system;
mod transaction;
mod verify;

pub(crate) use addresses::DAO_ACCOUNTS;
pub use ancestors::Ancestors;
pub use block::{BlockTerms, PreparedBlock};
pub use code_cache::CodeCache;
pub use evm::{Code, Evm, Log, Outcome, Reads, StepLog};
pub use replay::{Replay, Replayed, verify_state_root};
pub(crate) use rewards::block_reward;
pub use transaction::{PreparedTransaction, Refusal};
pub use verify::{Executed, ExecutionError, execute};
