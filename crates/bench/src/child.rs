//! Processes that we start, and that must not outlive us.

use std::io;
use std::path::Path;
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

/// The command line as text for records, the program by its name alone. What is not UTF-8 in it is
/// replaced.
#[must_use]
pub fn command_line() -> Vec<String> {
    let mut words: Vec<_> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    words
}
