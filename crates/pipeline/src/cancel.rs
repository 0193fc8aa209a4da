//! A request to stop, shared by every stage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once (Ctrl-C, a failed stage), seen by all clones.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Nobody has asked to stop.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every stage to finish what it holds and stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once someone has asked to stop.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
