//! Execution: the virtual machine, its system calls and the native contracts.
//!
//! A block is executed by [`block::Executor`]: what native contracts do before (OnPersist), each
//! transaction's script, and what they do after (PostPersist). Each is an execution of its own
//! ([`engine::Engine`]) over the layers of the state, and leaves an [`engine::Execution`].

pub mod admit;
pub mod block;
pub mod chain_view;
pub mod contract;
pub mod encode;
pub mod engine;
pub mod interop;
pub mod native;

pub mod vm;
