//! Equality of items, with limits on the cost of a comparison.

use std::rc::Rc;

use super::{Fault, Heap, Item, Ref};
use crate::execute::interop;

/// Limit of compared items, including the struct itself.
const MAX_ELEMENTS: usize = 2_048;
/// Limit of compared bytes, for a byte string or the direct fields of a struct.
const MAX_BYTES: usize = 65_536;

/// Reports whether two items are equal: structs and primitives by value, others by identity.
///
/// # Errors
///
/// Returns [`Fault::TooBigToCompare`] if a limit is exceeded.
pub fn equal(heap: &Heap, a: &Item, b: &Item) -> Result<bool, Fault> {
    match (a, b) {
        (Item::Struct(a), Item::Struct(b)) => structs(heap, *a, *b),
        _ => plain(a, b, &mut { MAX_BYTES }),
    }
}

/// Compares two items that are not both structs. `limit`: the remaining bytes.
fn plain(a: &Item, b: &Item, limit: &mut usize) -> Result<bool, Fault> {
    if let Some(bytes) = a.as_bytes() {
        return byte_strings(bytes, b.as_bytes(), limit);
    }
    Ok(match (a, b) {
        (Item::Null, Item::Null) => true,
        (Item::Bool(a), Item::Bool(b)) => a == b,
        (Item::Int(a), Item::Int(b)) => a == b,
        (Item::Big(a), Item::Big(b)) => a == b,
        (Item::Array(a), Item::Array(b)) | (Item::Map(a), Item::Map(b)) => a == b,
        (Item::Buffer(a), Item::Buffer(b)) => Rc::ptr_eq(a, b),
        (Item::Pointer(a), Item::Pointer(b)) => a == b,
        (Item::Interop(a), Item::Interop(b)) => interop::equal(a, b),
        _ => false,
    })
}

fn byte_strings(a: &[u8], b: Option<&[u8]>, limit: &mut usize) -> Result<bool, Fault> {
    if a.len() > *limit || *limit == 0 {
        return Err(Fault::TooBigToCompare);
    }
    let Some(b) = b else {
        *limit -= 1;
        return Ok(false);
    };
    if b.len() > *limit {
        return Err(Fault::TooBigToCompare);
    }
    *limit -= a.len().max(b.len());
    Ok(a == b)
}

/// One struct being compared with another.
struct Level {
    a: Ref,
    b: Ref,
    next: usize,
    bytes: usize,
}

fn structs(heap: &Heap, a: Ref, b: Ref) -> Result<bool, Fault> {
    let mut elements = MAX_ELEMENTS - 1;
    let mut levels = Vec::new();
    if !enter(heap, a, b, &mut levels) {
        return Ok(false);
    }
    while let Some(level) = levels.last_mut() {
        let (list_a, list_b) = (heap.list(level.a), heap.list(level.b));
        let Some((a, b)) = list_a.get(level.next).zip(list_b.get(level.next)) else {
            levels.pop();
            continue;
        };
        level.next += 1;
        elements -= 1;
        if elements == 0 {
            return Err(Fault::TooManyElements);
        }
        if a.as_bytes().is_none() {
            if level.bytes == 0 {
                return Err(Fault::TooBigToCompare);
            }
            level.bytes -= 1;
        }
        let same = match (a, b) {
            (Item::Struct(a), Item::Struct(b)) => enter(heap, *a, *b, &mut levels),
            _ => plain(a, b, &mut level.bytes)?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Begins the comparison of two structs. Returns false if they cannot be equal.
fn enter(heap: &Heap, a: Ref, b: Ref, levels: &mut Vec<Level>) -> bool {
    if a == b {
        return true;
    }
    levels.push(Level { a, b, next: 0, bytes: MAX_BYTES });
    heap.len(a) == heap.len(b)
}
