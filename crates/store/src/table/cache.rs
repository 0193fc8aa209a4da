//! Pages that were read, checked and unpacked, for all tables that share a budget.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use blockmill_platform::memory::prefetch;

/// Overhead of a page in bytes.
const OVERHEAD: u64 = 96;
/// Approximate bytes of a small page; the cache has room for its budget of such pages.
const SMALL: u64 = 2048;
/// Pages of a set.
const WAYS: usize = 4;
/// How many look-ups ahead a set is fetched.
const AHEAD: usize = 12;

/// Run and page.
pub(crate) type Name = (u64, u32);

/// Mixes numbers that nobody outside can choose.
#[derive(Default)]
pub struct Mixer(u64);

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

/// Pages whose names hash to the same set.
#[derive(Default)]
struct Ways {
    pages: [Option<Arc<[u8]>>; WAYS],
    runs: [u64; WAYS],
    numbers: [u32; WAYS],
    /// Asked for since the hand came by.
    is_used: [bool; WAYS],
}

/// Two cache lines, which the CPU fetches together.
#[derive(Default)]
#[repr(align(128))]
struct Set(Mutex<Ways>);

struct Sets {
    sets: Box<[Set]>,
    capacity: u64,
    bytes: AtomicU64,
    /// Where the next page that nobody asks for is looked for.
    hand: AtomicUsize,
}

/// A page cache; clones share it.
///
/// A set-associative cache with four ways and room for twice as many small pages as the budget has,
/// so a set is rarely full. Eviction is a clock sweep: pages that were not used since the last
/// sweep go (CLOCK: Corbató, 1968). A look-up costs one cache miss of the CPU and one for the first
/// line of the page; many look-ups overlap their misses.
#[derive(Clone)]
pub struct PageCache(Arc<Sets>);

impl fmt::Debug for PageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageCache").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

impl Ways {
    fn at(&self, (run, page): Name) -> Option<usize> {
        let is_it = |at: &usize| self.numbers[*at] == page && self.runs[*at] == run;
        (0..WAYS).filter(is_it).find(|at| self.pages[*at].is_some())
    }

    /// Evicts a page. Returns the bytes that it took.
    fn drop_at(&mut self, at: usize) -> u64 {
        self.pages[at].take().map_or(0, |page| weight(&page))
    }
}

fn weight(page: &[u8]) -> u64 {
    page.len() as u64 + OVERHEAD
}

impl Set {
    fn ways(&self) -> MutexGuard<'_, Ways> {
        // a panic ends the run elsewhere
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageCache {
    /// A cache of at most `bytes`.
    #[must_use]
    pub fn new(bytes: u64) -> PageCache {
        let sets = usize::try_from(bytes / SMALL).unwrap_or(usize::MAX) / WAYS * 2;
        let sets = sets.max(1).next_power_of_two();
        PageCache(Arc::new(Sets {
            sets: (0..sets).map(|_| Set::default()).collect(),
            capacity: bytes,
            bytes: AtomicU64::new(0),
            hand: AtomicUsize::new(0),
        }))
    }

    /// Bytes that it may have.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.0.capacity
    }

    /// Bytes of all pages in it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Relaxed)
    }

    fn set(&self, name: Name) -> &Set {
        let mut hash = Mixer::default();
        name.hash(&mut hash);
        let sets = &self.0.sets;
        &sets[hash.finish() as usize & (sets.len() - 1)]
    }

    /// Prefetches the first line of a page whose set is in the CPU caches.
    fn prefetch_entry(&self, name: Name) {
        let ways = self.set(name).ways();
        let page = ways.at(name).and_then(|at| ways.pages[at].as_deref()?.first());
        page.into_iter().for_each(prefetch);
    }

    /// Page `page` of run `run`; `None` where it is not in the cache.
    #[must_use]
    pub fn get(&self, run: u64, page: u32) -> Option<Arc<[u8]>> {
        let name = (run, page);
        let mut ways = self.set(name).ways();
        let at = ways.at(name)?;
        ways.is_used[at] = true;
        ways.pages[at].clone()
    }

    /// Many pages.
    pub fn get_many(&self, names: &[(u64, u32)]) -> Vec<Option<Arc<[u8]>>> {
        names.iter().take(AHEAD).for_each(|name| prefetch(self.set(*name)));
        let get = |(at, name): (usize, &Name)| {
            if let Some(name) = names.get(at + AHEAD) {
                prefetch(self.set(*name));
            }
            if let Some(name) = names.get(at + AHEAD / 2) {
                self.prefetch_entry(*name);
            }
            self.get(name.0, name.1)
        };
        names.iter().enumerate().map(get).collect()
    }

    /// Keeps a page, in the place of one that was not used for long.
    pub fn insert(&self, run: u64, page: u32, bytes: Arc<[u8]>) {
        let (name, page) = ((run, page), bytes);
        let Sets { sets, capacity, bytes, hand } = &*self.0;
        let more = weight(&page);
        if more > *capacity {
            return;
        }
        let mut ways = self.set(name).ways();
        let place = ways.at(name).or_else(|| (0..WAYS).find(|at| ways.pages[*at].is_none()));
        let place =
            place.or_else(|| (0..WAYS).find(|at| !ways.is_used[*at])).unwrap_or_else(|| {
                ways.is_used = [false; WAYS];
                0
            });
        let less = ways.drop_at(place);
        (ways.runs[place], ways.numbers[place]) = name;
        ways.is_used[place] = false;
        ways.pages[place] = Some(page);
        // before another thread may evict it, and subtract bytes that were not added yet
        bytes.fetch_add(more.wrapping_sub(less), Relaxed);
        drop(ways);
        // twice around, all are let go of
        let mut steps = 0..sets.len() * WAYS * 2 + 1;
        while bytes.load(Relaxed) > *capacity && steps.next().is_some() {
            let at = hand.fetch_add(1, Relaxed);
            let mut ways = sets[(at / WAYS) & (sets.len() - 1)].ways();
            if !std::mem::take(&mut ways.is_used[at % WAYS]) {
                bytes.fetch_sub(ways.drop_at(at % WAYS), Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page that contains its own name.
    fn page(name: Name, bytes: usize) -> Arc<[u8]> {
        let mut page = vec![0; bytes.max(12)];
        page[..8].copy_from_slice(&name.0.to_le_bytes());
        page[8..12].copy_from_slice(&name.1.to_le_bytes());
        page.into()
    }

    #[test]
    fn pages_are_those_of_their_names_and_stay_within_the_budget() {
        assert_eq!(size_of::<Set>(), 128);
        for budget in [0, 5_000, 100_000, 3_000_000] {
            let cache = PageCache::new(budget);
            let mut random = Mixer::default();
            let mut draw = || {
                random.write_u64(1);
                random.finish()
            };
            let mut hits = 0;
            for _ in 0..20_000 {
                let name = (draw() % 3, (draw() % 1000) as u32);
                match cache.get(name.0, name.1) {
                    Some(found) => {
                        assert_eq!(found[..12], page(name, 0)[..]);
                        hits += 1;
                    }
                    None => cache.insert(name.0, name.1, page(name, draw() as usize % 5_000)),
                }
                assert!(cache.bytes() <= budget, "{} of {budget}", cache.bytes());
            }
            let names: Vec<Name> = (0..4000).map(|i| (i % 4, (i / 4) as u32)).collect();
            let all = cache.get_many(&names);
            let kept =
                all.iter().zip(&names).filter_map(|(found, name)| Some((found.as_ref()?, name)));
            let kept: Vec<_> = kept.collect();
            assert!(kept.iter().all(|(found, name)| found[..12] == page(**name, 0)[..]));
            assert_eq!(kept.is_empty(), budget == 0);
            // of the 7.6 MB of all pages the largest budget has some forty per cent
            assert_eq!(hits > 6_000, budget == 3_000_000, "{hits} of {budget}");
        }
    }

    #[test]
    fn threads_count_the_bytes_of_each_other() {
        let (budget, most) = (60_000, 4 * 5_096);
        let cache = PageCache::new(budget);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    for i in 0..30_000_u32 {
                        let name = (0, i.wrapping_mul(2_654_435_761 + thread) % 64);
                        cache.insert(name.0, name.1, page(name, 12 + i as usize % 5_000));
                        assert!(cache.bytes() <= budget + most, "{}", cache.bytes());
                        let found = cache.get(name.0, name.1);
                        assert!(found.is_none_or(|found| found[..12] == page(name, 0)[..]));
                    }
                });
            }
        });
        let kept = cache.get_many(&(0..64).map(|page| (0, page)).collect::<Vec<_>>());
        assert_eq!(cache.bytes(), kept.iter().flatten().map(|page| weight(page)).sum::<u64>());
        assert!(cache.bytes() <= budget);
    }

    #[test]
    fn what_is_asked_for_stays_when_others_come_once() {
        let cache = PageCache::new(1_000_000);
        let hot: Vec<Name> = (0..100).map(|page| (1, page)).collect();
        hot.iter().for_each(|name| cache.insert(name.0, name.1, page(*name, 4096)));
        for number in 0..5_000 {
            cache.insert(2, number, page((2, number), 4096));
            cache.get_many(&hot);
        }
        let kept = cache.get_many(&hot).iter().flatten().count();
        // a few may have met in one set
        assert!(kept >= 90, "{kept}");
    }
}
