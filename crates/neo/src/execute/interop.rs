//! System calls, and the interop objects that they return.

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
    /// A storage context.
    Storage {
        /// The id of the contract.
        contract: i32,
        /// Writes fail.
        read_only: bool,
    },
    /// An iterator.
    Iterator(RefCell<Iteration>),
    /// A point of BLS12-381.
    Point(Box<Point>),
}

impl Interop {
    /// Its Go type in the messages of the reference client.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Self::Storage { .. } => "*storage.Context",
            Self::Iterator(_) => "*storage.Iterator",
            Self::Point(_) => "native.blsPoint",
        }
    }
}

/// Reports whether two objects are equal: points by value, others by identity.
#[must_use]
pub fn equal(a: &Rc<Interop>, b: &Rc<Interop>) -> bool {
    match (&**a, &**b) {
        (Interop::Point(a), Interop::Point(b)) => a == b,
        _ => Rc::ptr_eq(a, b),
    }
}
