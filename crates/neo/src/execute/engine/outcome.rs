//! What executions are for, and what they leave.

use crate::{
    execute::vm::Item,
    types::{UInt160, UInt256},
};
use std::borrow::Cow;

/// What a script is allowed, a set of flags.
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

/// Why a script runs.
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

/// A notification while it can still change.
#[derive(Clone, Debug)]
pub struct Event {
    /// The contract that sent it.
    pub contract: [u8; 20],
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it carries: an array.
    pub state: Item,
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The contract that sent it.
    pub contract: UInt160,
    /// Its name.
    pub name: Cow<'static, str>,
    /// What it carries, as a serialized array.
    pub state: Vec<u8>,
}

/// What an execution leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The transaction, or the block.
    pub container: UInt256,
    /// Why it ran.
    pub trigger: Trigger,
    /// The gas that it took, in units of 10^-8.
    pub gas: u64,
    /// Items on the stack at the end, serialized, the top last; the byte 0xff for those that have
    /// no such form.
    pub stack: Vec<Vec<u8>>,
    /// Notifications in order.
    pub notifications: Vec<Notification>,
    /// Why it failed.
    pub fault: Option<String>,
}
