//! A run's line to the outside: it may be asked to stop, and it may be watched.

use crate::live::Live;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once (Ctrl-C, a failed stage), seen by all clones; with a window through which the run that
/// it may stop is seen.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    live: Live,
}

impl Cancel {
    /// Nobody has asked to stop.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nobody can ask this one to stop; what it does is shown to those that look at `live`.
    #[must_use]
    pub fn shown_to(live: &Live) -> Self {
        Self { live: live.clone(), ..Self::default() }
    }

    /// Asks every stage to finish what it holds and stop.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// What the run shows of itself.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// True once someone has asked to stop.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}
