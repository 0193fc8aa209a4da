//! Execution: the virtual machine, its system calls and the native contracts.

pub mod interop;
pub mod vm;
