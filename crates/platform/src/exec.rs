//! One program in the place of another.

use std::io;
use std::process::Command;

/// Replaces this process by `command`, so that signals, terminal and exit code are those of the new
/// program. Returns only if that fails, with the error.
#[cfg(unix)]
pub fn exec(command: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Runs `command` and ends this process with its exit code. Returns only if it cannot be started,
/// with the error.
#[cfg(not(unix))]
pub fn exec(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
