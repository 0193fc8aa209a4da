//! Processes that we start, and that must not outlive us.

use std::io;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A process that others may end.
pub type Shared = Arc<Mutex<Child>>;

static RUNNING: Mutex<Vec<Shared>> = Mutex::new(Vec::new());
static STOPPED: AtomicBool = AtomicBool::new(false);

/// Ends every process that was started here, and starts no more.
pub fn kill_all() {
    STOPPED.store(true, Ordering::SeqCst);
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for child in running.iter() {
        // an error says that it has ended by itself
        let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
    }
}

/// Starts a process that [`kill_all`] ends.
pub fn spawn(command: &mut Command) -> io::Result<Shared> {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    if STOPPED.load(Ordering::SeqCst) {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "the user asked to stop"));
    }
    let child = Arc::new(Mutex::new(command.spawn()?));
    running.push(child.clone());
    Ok(child)
}

/// Takes note that a process has ended.
pub fn ended(child: &Shared) {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.retain(|other| !Arc::ptr_eq(other, child));
}
