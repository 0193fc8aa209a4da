//! Memory for the nodes of all tries: records in one array, addressed by 32-bit places.
//!
//! A record takes whole granules of 16 bytes, so a place reaches 16 GiB. Freed records are kept by
//! their size and given out again. The array is one allocation: nothing is allocated for a node.

use super::error::Error;
use super::node::Node;
use std::collections::BTreeMap;

/// Bytes of a granule.
const GRANULE: usize = 16;
/// Granules that a place of 30 bits reaches.
const LIMIT: usize = 1 << 30;
/// Freed records of fewer granules than this have a list of their own, found by their size.
const SMALL: usize = 64;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Records of nodes.
#[derive(Debug)]
pub struct Heap {
    granules: Vec<[u8; GRANULE]>,
    /// The largest number of granules.
    limit: usize,
    /// Freed places by their number of granules.
    free: Vec<Vec<u32>>,
    large: BTreeMap<usize, Vec<u32>>,
    freed: usize,
    /// Places that must not be given out yet.
    withheld: Option<Vec<(u32, u32)>>,
}

impl Heap {
    /// An empty heap, which grows to at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            granules: vec![],
            limit: (limit / GRANULE).min(LIMIT),
            free: vec![vec![]; SMALL],
            large: BTreeMap::new(),
            freed: 0,
            withheld: None,
        }
    }

    /// Bytes that live records take.
    pub fn live_bytes(&self) -> usize {
        (self.granules.len() - self.freed) * GRANULE
    }

    /// Bytes of memory in use: live records and freed ones.
    pub fn bytes(&self) -> usize {
        self.granules.len() * GRANULE
    }

    /// A place for a record of `len` bytes. What it held before is still there.
    pub fn take(&mut self, len: usize) -> Result<u32, Error> {
        let granules = len.div_ceil(GRANULE);
        let list = match self.free.get_mut(granules) {
            Some(list) => Some(list),
            None => self.large.get_mut(&granules),
        };
        if let Some(place) = list.and_then(Vec::pop) {
            self.freed -= granules;
            return Ok(place);
        }
        let place = self.granules.len();
        let end = place + granules;
        if end > self.limit {
            return Err(Error::Full { limit: self.limit * GRANULE, needed: end * GRANULE });
        }
        if end > self.granules.capacity() {
            self.granules.reserve(granules);
            blockmill_platform::memory::prefer_huge_pages(&mut self.granules);
        }
        self.granules.resize(end, [0; GRANULE]);
        Ok(place as u32)
    }

    /// Gives a record of `len` bytes back.
    pub fn give(&mut self, place: u32, len: usize) {
        let granules = len.div_ceil(GRANULE);
        match &mut self.withheld {
            Some(withheld) => withheld.push((place, granules as u32)),
            None => self.release(place, granules),
        }
    }

    fn release(&mut self, place: u32, granules: usize) {
        self.freed += granules;
        match self.free.get_mut(granules) {
            Some(list) => list.push(place),
            None => self.large.entry(granules).or_default().push(place),
        }
    }

    /// From now on no record that is given back is given out again, until
    /// [`release_withheld`](Self::release_withheld): its bytes stay as they are.
    pub fn withhold(&mut self) {
        self.withheld.get_or_insert_default();
    }

    /// Ends [`withhold`](Self::withhold).
    pub fn release_withheld(&mut self) {
        for (place, granules) in self.withheld.take().unwrap_or_default() {
            self.release(place, granules as usize);
        }
    }

    /// True when a record of one length fits in the place of one of the other, and fills it.
    pub fn same_size(a: usize, b: usize) -> bool {
        a.div_ceil(GRANULE) == b.div_ceil(GRANULE)
    }

    /// The bytes from a record on.
    #[inline(always)]
    pub fn at(&self, place: u32) -> &[u8] {
        &self.granules.as_flattened()[place as usize * GRANULE..]
    }

    /// The bytes from a record on, to be written.
    #[inline(always)]
    pub fn at_mut(&mut self, place: u32) -> &mut [u8] {
        &mut self.granules.as_flattened_mut()[place as usize * GRANULE..]
    }

    /// Asks the CPU for the first cache lines of a node's record.
    #[inline(always)]
    pub fn prefetch(&self, node: Node, lines: usize) {
        if !node.has_record() {
            return;
        }
        let start = node.place() as usize;
        for line in 0..lines {
            if let Some(granule) = self.granules.get(start + line * (LINE / GRANULE)) {
                blockmill_platform::memory::prefetch(granule);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_places_are_given_out_again_by_size() {
        let mut heap = Heap::new(1 << 20);
        let [a, b, c] = [40, 48, 5000].map(|len| heap.take(len).unwrap());
        assert_eq!((a, b, c), (0, 3, 6));
        heap.give(b, 48);
        heap.give(c, 5000);
        assert_eq!(heap.take(33).unwrap(), b, "33 and 48 bytes are three granules");
        assert_eq!(heap.take(64).unwrap() as usize, 6 + 5000_usize.div_ceil(16));
        assert_eq!(heap.take(4999).unwrap(), c);
        assert_eq!(heap.live_bytes(), heap.bytes());
    }

    #[test]
    fn withheld_places_stay_as_they_are() {
        let mut heap = Heap::new(1 << 20);
        let a = heap.take(48).unwrap();
        heap.withhold();
        heap.give(a, 48);
        assert_ne!(heap.take(48).unwrap(), a);
        heap.release_withheld();
        assert_eq!(heap.take(48).unwrap(), a);
    }

    #[test]
    fn a_full_heap_is_an_error() {
        let mut heap = Heap::new(64);
        heap.take(40).unwrap();
        assert_eq!(heap.take(17), Err(Error::Full { limit: 64, needed: 80 }));
        assert_eq!(heap.take(16), Ok(3));
    }
}
