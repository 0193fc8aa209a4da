//! Reads by threads that take one after the other.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use super::{Wanted, one};

/// More of them cost more than they bring.
const THREADS: usize = 16;

/// The result of a read.
type Place = Mutex<Option<io::Result<Arc<[u8]>>>>;

/// Reads all of `wanted`, in the same order.
pub fn read(wanted: &[Wanted]) -> io::Result<Vec<Arc<[u8]>>> {
    let next = AtomicUsize::new(0);
    let found: Vec<Place> = wanted.iter().map(|_| Place::new(None)).collect();
    let put = |at: usize, bytes| {
        *found[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    };
    let work = || {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(wanted) = wanted.get(at) else { break };
            put(at, one(wanted));
        }
    };
    thread::scope(|scope| {
        for _ in 1..THREADS.min(wanted.len()) {
            // without it the others have more to do
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let taken = found.into_iter().map(|found| found.into_inner());
    taken.zip(wanted).map(|(found, w)| found.ok().flatten().unwrap_or_else(|| one(w))).collect()
}
