//! The bytes read last, for blocks whose parents are found soon.

use std::collections::HashMap;
use std::collections::VecDeque;

/// The last bytes of all files together, of which only waiting blocks are really kept.
pub(super) struct LookBack {
    capacity: u64,
    /// Bytes of blocks that have gone by.
    passed: u64,
    /// Position of each kept block, and how many bytes had gone by before it; the oldest first.
    order: VecDeque<(u32, u64)>,
    blocks: HashMap<u32, Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl LookBack {
    pub fn new(capacity: u64) -> Self {
        Self { capacity, passed: 0, order: VecDeque::new(), blocks: HashMap::new(), spare: vec![] }
    }

    pub fn is_off(&self) -> bool {
        self.capacity == 0
    }

    /// A block of `size` bytes goes by; what is too far back then is forgotten.
    pub fn pass(&mut self, size: u32) {
        self.passed += u64::from(size);
        while let Some((position, before)) = self.order.front() {
            if self.passed - before <= self.capacity {
                break;
            }
            self.spare.extend(self.blocks.remove(position));
            self.order.pop_front();
        }
    }

    /// An empty buffer for the bytes of a block.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Keeps the block at `position`, which is the last that went by.
    pub fn keep(&mut self, position: u32, bytes: Vec<u8>) {
        if bytes.len() as u64 > self.capacity {
            return self.spare.push(bytes);
        }
        self.order.push_back((position, self.passed - bytes.len() as u64));
        self.blocks.insert(position, bytes);
    }

    /// Returns the block at `position`, if it is still buffered.
    pub fn take(&mut self, position: u32) -> Option<Vec<u8>> {
        self.blocks.remove(&position)
    }

    /// Takes back a buffer.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        // capacity for the blocks that are buffered now, not for an earlier maximum
        if self.spare.len() <= self.blocks.len() {
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_kept_until_the_capacity_has_gone_by() {
        let mut look_back = LookBack::new(100);
        for position in 0..4 {
            look_back.pass(40);
            look_back.keep(position, vec![position as u8; 40]);
        }
        // 160 bytes have gone by: the last 100 hold two blocks and a half
        assert_eq!(look_back.take(0), None);
        assert_eq!(look_back.take(1), None);
        assert_eq!(look_back.take(2), Some(vec![2; 40]));
        look_back.pass(61);
        assert_eq!(look_back.take(3), None);
        look_back.pass(101);
        look_back.keep(4, vec![4; 101]);
        assert_eq!(look_back.take(4), None);
    }
}
