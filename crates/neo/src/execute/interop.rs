//! System calls, and the objects that they give to scripts.

pub mod calls;
pub mod iterator;
pub mod keys;
pub mod multisig;
pub mod murmur;
pub mod runtime;
pub mod storage;
pub mod syscalls;
pub mod witness;

use std::{cell::RefCell, rc::Rc};

use self::iterator::Iteration;
use super::native::points::Point;

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
    /// Something that is gone through once.
    Iterator(RefCell<Iteration>),
    /// A point of BLS12-381.
    Point(Box<Point>),
}

impl Interop {
    /// The type that faults of the reference client show.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Self::Storage { .. } => "*storage.Context",
            Self::Iterator(_) => "*storage.Iterator",
            Self::Point(_) => "native.blsPoint",
        }
    }
}

/// Whether two objects are the same; points are if they have the same form and place.
#[must_use]
pub fn equal(a: &Rc<Interop>, b: &Rc<Interop>) -> bool {
    match (&**a, &**b) {
        (Interop::Point(a), Interop::Point(b)) => a == b,
        _ => Rc::ptr_eq(a, b),
    }
}
