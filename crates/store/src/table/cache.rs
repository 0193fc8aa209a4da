//! Pages that were read, checked and unpacked, for all tables that share a budget.

use std::{
    fmt,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use quick_cache::{
    Weighter,
    sync::{Cache, DefaultLifecycle},
};

/// What a page takes besides its bytes.
const OVERHEAD: u64 = 96;
/// Bytes of a page, about.
const EXPECTED: u64 = 4096;

/// Run and page.
type Name = (u64, u32);

#[derive(Clone)]
struct Weight;

impl Weighter<Name, Arc<[u8]>> for Weight {
    fn weight(&self, _: &Name, page: &Arc<[u8]>) -> u64 {
        page.len() as u64 + OVERHEAD
    }
}

/// Mixes numbers that nobody outside can choose.
#[derive(Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        let (a, b) = (self.0 ^ n ^ 0x9e37_79b9_7f4a_7c15, 0xf39c_c060_5ced_c835);
        let product = u128::from(a) * b;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Pages = Cache<Name, Arc<[u8]>, Weight, BuildHasherDefault<Mixer>>;

/// A cache of pages; clones share it.
#[derive(Clone)]
pub struct PageCache(Arc<Pages>);

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache").field("bytes", &self.0.weight()).finish_non_exhaustive()
    }
}

impl PageCache {
    /// A cache of at most `bytes`.
    #[must_use]
    pub fn new(bytes: u64) -> PageCache {
        let pages = usize::try_from(bytes / EXPECTED).unwrap_or(usize::MAX).max(1);
        let (hasher, lifecycle) = (BuildHasherDefault::default(), DefaultLifecycle::default());
        PageCache(Arc::new(Cache::with(pages, bytes, Weight, hasher, lifecycle)))
    }

    /// Bytes that it may have.
    pub(crate) fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    /// Bytes of all pages in it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.weight()
    }

    pub(crate) fn get(&self, run: u64, page: u32) -> Option<Arc<[u8]>> {
        self.0.get(&(run, page))
    }

    pub(crate) fn insert(&self, run: u64, page: u32, bytes: Arc<[u8]>) {
        self.0.insert((run, page), bytes);
    }
}
