//! Many reads at once: through io_uring where the system has it, by threads elsewhere. A disk does
//! 128 reads in the time of a few; one thread that waits for each gets a tenth of that.

#[cfg(target_os = "linux")]
mod ring;
mod threads;

use std::{io, iter, sync::Arc};

#[cfg(target_os = "linux")]
use self::ring::Ring;
use blockmill_store::disk::DiskFile;

/// How several reads at a time are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadMethod {
    /// One after the other.
    Off,
    /// By threads.
    Threads,
    /// Through io_uring; by threads if io_uring is not available.
    #[default]
    Ring,
}

/// Reads under way at once.
pub(super) const DEPTH: usize = 128;

/// Bytes of a file that are wanted.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub file: Arc<dyn DiskFile>,
    pub offset: u64,
    pub bytes: usize,
}

/// Executes reads; the ring is created when it is first needed.
#[derive(Debug)]
pub(super) struct Reader {
    how: ReadMethod,
    #[cfg(target_os = "linux")]
    ring: std::sync::Mutex<Option<Ring>>,
}

impl Reader {
    pub fn new(how: ReadMethod) -> Self {
        Self {
            how,
            #[cfg(target_os = "linux")]
            ring: std::sync::Mutex::new(None),
        }
    }

    /// Reads all of `wanted`, each into a buffer of its own.
    pub fn read(&self, wanted: &[Wanted]) -> io::Result<Vec<Arc<[u8]>>> {
        if wanted.len() < 2 || self.how == ReadMethod::Off {
            return wanted.iter().map(one).collect();
        }
        #[cfg(target_os = "linux")]
        if self.how == ReadMethod::Ring {
            let mut ring = self.ring.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if ring.is_none() {
                *ring = Ring::new(DEPTH);
            }
            if let Some(found) = ring.as_mut().and_then(|ring| ring.read(wanted)) {
                let whole = |(found, w): (Option<_>, _)| found.map_or_else(|| one(w), Ok);
                return found.into_iter().zip(wanted).map(whole).collect();
            }
            // it may have broken half-way
            *ring = None;
        }
        threads::read(wanted)
    }
}

/// Allocates a shared buffer, so that read bytes are not copied.
pub(super) fn room(bytes: usize) -> Arc<[u8]> {
    iter::repeat_n(0, bytes).collect()
}

fn one(wanted: &Wanted) -> io::Result<Arc<[u8]>> {
    let mut out = room(wanted.bytes);
    wanted.file.read_exact_at(Arc::make_mut(&mut out), wanted.offset)?;
    Ok(out)
}
