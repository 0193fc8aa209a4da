//! System calls.

use std::rc::Rc;

/// An object of the host that a script holds.
#[derive(Debug)]
pub enum Interop {
    /// Where a contract's storage lies, and whether it can be written.
    Storage {
        /// The number of the contract.
        contract: i32,
        /// Writes fail.
        read_only: bool,
    },
}

/// Whether two objects are the same.
#[must_use]
pub fn equal(a: &Rc<Interop>, b: &Rc<Interop>) -> bool {
    Rc::ptr_eq(a, b)
}
