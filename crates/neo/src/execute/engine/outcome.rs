//! Triggers, call flags and results of executions.

use crate::{
    execute::vm::Item,
    types::{UInt160, UInt256},
};
use std::borrow::Cow;

/// Call flags (`callflag.CallFlag`).
pub mod flags {
    /// Nothing.
    pub const NONE: u8 = 0;
    /// Read storage.
    pub const READ: u8 = 1;
    /// Change storage.
    pub const WRITE: u8 = 2;
    /// Call contracts.
    pub const CALL: u8 = 4;
    /// Send notifications.
    pub const NOTIFY: u8 = 8;
    /// Read and change storage.
    pub const STATES: u8 = READ | WRITE;
    /// Read storage and call contracts.
    pub const READ_ONLY: u8 = READ | CALL;
    /// Everything.
    pub const ALL: u8 = STATES | CALL | NOTIFY;
}

/// The trigger of an execution (`trigger.Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Trigger {
    /// Before the transactions of a block.
    OnPersist = 0x01,
    /// After them.
    PostPersist = 0x02,
    /// To verify a witness.
    Verification = 0x20,
    /// A transaction.
    Application = 0x40,
}

impl Trigger {
    /// The name that application logs show.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OnPersist => "OnPersist",
            Self::PostPersist => "PostPersist",
            Self::Verification => "Verification",
            Self::Application => "Application",
        }
    }
}

/// A notification of a running execution.
#[derive(Clone, Debug)]
pub struct Event {
    /// The contract that sent it.
    pub contract: [u8; 20],
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its arguments: an array.
    pub state: Item,
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The contract that sent it.
    pub contract: UInt160,
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its arguments: a serialized array.
    pub state: Vec<u8>,
}

/// The result of an execution (`state.AppExecResult`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The transaction, or the block.
    pub container: UInt256,
    /// Its trigger.
    pub trigger: Trigger,
    /// The consumed gas, in units of 10^-8.
    pub gas: u64,
    /// Serialized items of the final stack, top last; the byte 0xff for an item without a binary
    /// form.
    pub stack: Vec<Vec<u8>>,
    /// Notifications in order.
    pub notifications: Vec<Notification>,
    /// The fault message, if it failed.
    pub fault: Option<String>,
}
