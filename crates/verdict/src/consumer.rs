//! Rows that a program derives from verified blocks, in addition to verifying and storing them.
//!
//! `derive` runs on any thread, for many batches at the same time. The *tasks* receive the rows of
//! each batch in the order of blocks, several tasks at the same time. `write` receives the rows of
//! a batch, in the same order, after every task has. `blockmill_pipeline` adds the stages.

use crate::Status;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The rows that a consumer derives from the blocks of one batch. Only the consumer knows the type.
pub type DerivedRows = Box<dyn Any + Send + Sync>;

/// Receives derived rows in the order of blocks.
pub type ReceiveRows = dyn Fn(&DerivedRows) -> Result<(), ConsumerError> + Send + Sync;

/// Derives rows from verified blocks and receives them in order. `D` is the function that derives:
/// each chain has its own view of verified blocks.
pub struct VerifiedConsumer<D: ?Sized> {
    /// Derives the rows of a batch.
    pub derive: Arc<D>,
    /// Tasks that receive the rows in order, at the same time as each other.
    pub tasks: Vec<Arc<ReceiveRows>>,
    /// Receives the rows in order, after the tasks.
    pub write: Arc<ReceiveRows>,
}

impl<D: ?Sized> Clone for VerifiedConsumer<D> {
    fn clone(&self) -> Self {
        let Self { derive, tasks, write } = self;
        Self { derive: derive.clone(), tasks: tasks.clone(), write: write.clone() }
    }
}

/// Why a consumer ends a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerError {
    /// The reason, in a sentence.
    pub message: String,
    /// Whether the blocks, the command or this machine is the reason.
    pub status: Status,
}

impl fmt::Display for ConsumerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConsumerError {}
