//! Runs a process to its end: its output, its status and its peak memory.

use crate::child;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which memory is sampled. Times come from the clock of the process.
const SAMPLE_EVERY: Duration = Duration::from_millis(10);

/// Bounds on what is kept of each output: 10,000,000 headers in batches of 2,048 print 1 MB.
const MAX_OUTPUT: u64 = 64 << 20;

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// The peak of the sampled memory; 0 if the kernel does not report it.
    pub peak_rss_bytes: u64,
}

/// Runs a command to its end, without input.
pub fn watch(command: &mut Command) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = child::spawn(command)?;
    let (stdout, stderr) = {
        let mut child = locked(&running);
        (collect(child.stdout.take()), collect(child.stderr.take()))
    };
    let mut peak_rss_bytes = 0;
    let waited = wait(&running, &mut peak_rss_bytes);
    child::ended(&running);
    if waited.is_err() {
        // Without its status nothing that it prints counts; do not leave it running.
        let mut child = locked(&running);
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = |thread: thread::JoinHandle<io::Result<String>>| {
        thread.join().unwrap_or_else(|_| Err(io::Error::other("reading its output failed")))
    };
    let (stdout, stderr) = (text(stdout), text(stderr));
    Ok(Ended { status: waited?, stdout: stdout?, stderr: stderr?, peak_rss_bytes })
}

/// The last line of a text that is not blank.
pub fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it printed nothing")
}

/// Waits for the end and keeps the highest memory seen.
///
/// The kernel's own maximum for a finished child begins with the size of the parent at the fork,
/// so it would show our memory when that is larger. The high-water mark in `/proc` does not.
fn wait(child: &child::Shared, peak: &mut u64) -> io::Result<ExitStatus> {
    loop {
        let mut child = locked(child);
        // The status is not collected yet, so the number cannot belong to another process.
        if let Some(bytes) = blockmill_platform::proc::peak_memory(&child.id().to_string()) {
            *peak = (*peak).max(bytes);
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        drop(child);
        thread::sleep(SAMPLE_EVERY);
    }
}

fn locked(child: &child::Shared) -> MutexGuard<'_, Child> {
    child.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads an output to its end on a thread, so that a full pipe never stops the process.
fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<io::Result<String>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            pipe.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ended {
        watch(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn collects_outputs_and_status() {
        let ended = shell("echo out; echo one >&2; echo two >&2; exit 3");
        assert_eq!(ended.status.code(), Some(3));
        assert_eq!(ended.stdout, "out\n");
        assert_eq!(last_line(&ended.stderr), "two");
    }

    #[test]
    fn output_larger_than_a_pipe_does_not_hang() {
        let ended = shell("head -c 300000 /dev/zero | tr '\\0' 'x'");
        assert_eq!(ended.stdout.len(), 300_000);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn sees_memory() {
        let ended = shell("sleep 0.1");
        let mib = ended.peak_rss_bytes >> 20;
        assert!(ended.peak_rss_bytes > 100_000 && mib < 64, "{} bytes", ended.peak_rss_bytes);
    }
}
