//! Pages that were read, checked and unpacked, for all tables that share a budget.

use std::{fmt, sync::Arc};

use quick_cache::{Weighter, sync::Cache};

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

/// A cache of pages; clones share it.
#[derive(Clone)]
pub struct PageCache(Arc<Cache<Name, Arc<[u8]>, Weight>>);

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
        PageCache(Arc::new(Cache::with_weighter(pages, bytes, Weight)))
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
