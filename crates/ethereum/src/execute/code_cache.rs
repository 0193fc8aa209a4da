//! Analysed codes that are shared by blocks, executed one after the other or at the same time.

use super::Code;
use crate::Hash;
use hashbrown::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of code after which the cache starts anew: some 5,000 contracts of common size.
const MOST_BYTES: usize = 64 << 20;

/// Analysed codes by hash. Memory is bounded: a full cache drops all entries.
#[derive(Debug, Default)]
pub struct CodeCache(Mutex<Codes>);

#[derive(Debug, Default)]
struct Codes {
    by_hash: HashMap<Hash, Code>,
    bytes: usize,
}

impl CodeCache {
    /// The analysed form of `code`, of which `hash` is the Keccak-256.
    pub fn analysed(&self, hash: &Hash, code: &[u8]) -> Code {
        if let Some(known) = self.codes().by_hash.get(hash) {
            return known.clone();
        }
        // without the lock: other threads look up other codes meanwhile
        let new = Code::new(code.to_vec());
        let mut codes = self.codes();
        if codes.bytes + code.len() > MOST_BYTES {
            *codes = Codes::default();
        }
        if codes.by_hash.insert(*hash, new.clone()).is_none() {
            codes.bytes += code.len();
        }
        new
    }

    fn codes(&self) -> MutexGuard<'_, Codes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_drops_its_entries_and_keeps_its_answers() {
        let cache = CodeCache::default();
        let code = |i: usize| vec![i as u8; MOST_BYTES / 3];
        for i in [0, 1, 1, 0, 2, 3, 0] {
            let hash = [i as u8; 32];
            assert_eq!(cache.analysed(&hash, &code(i)).bytes(), code(i));
            let codes = cache.0.lock().unwrap();
            assert!(codes.bytes <= MOST_BYTES && codes.by_hash.contains_key(&hash));
        }
        assert_eq!(cache.0.lock().unwrap().by_hash.len(), 2);
    }
}
