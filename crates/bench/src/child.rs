//! Processes that we start, and that must not outlive us.

use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often a process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

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

/// Runs a command to its end, as [`Command::output`] does.
pub fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = spawn(command)?;
    let (stdout, stderr) = {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        (collect(child.stdout.take()), collect(child.stderr.take()))
    };
    let status = loop {
        let looked = child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
        match looked {
            Ok(None) => thread::sleep(LOOK_EVERY),
            Ok(Some(status)) => break Ok(status),
            Err(error) => break Err(error),
        }
    };
    ended(&child);
    let bytes = |thread: thread::JoinHandle<io::Result<Vec<u8>>>| {
        thread.join().unwrap_or_else(|_| Err(io::Error::other("reading its output failed")))
    };
    let (status, stdout, stderr) = (status?, bytes(stdout)?, bytes(stderr)?);
    Ok(Output { status, stdout, stderr })
}

/// Reads an output to its end on a thread, so that a full pipe never stops the process.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    })
}

/// The command line as text for records. What is not UTF-8 in it is replaced.
#[must_use]
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect()
}
