//! Restores the order of items that several workers finish in any order.

use std::collections::BTreeMap;

/// Holds early items back until their predecessors have come.
///
/// It is as large as the pipeline's number of items in flight, which the pipeline bounds by the
/// number of buffers that it circulates.
#[derive(Debug)]
pub struct Reorder<T> {
    next: u64,
    early: BTreeMap<u64, T>,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self { next: 0, early: BTreeMap::new() }
    }
}

impl<T> Reorder<T> {
    /// Takes item number `sequence` (each number from 0 on comes once).
    pub fn push(&mut self, sequence: u64, item: T) {
        self.early.insert(sequence, item);
    }

    /// The next item in order, if it has come.
    pub fn pop(&mut self) -> Option<T> {
        let item = self.early.remove(&self.next)?;
        self.next += 1;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_items_back_in_order() {
        let mut reorder = Reorder::default();
        let mut out = vec![];
        for n in [2, 0, 3, 1, 5, 4] {
            reorder.push(n, n);
            out.extend(std::iter::from_fn(|| reorder.pop()));
        }
        assert_eq!(out, [0, 1, 2, 3, 4, 5]);
    }
}
