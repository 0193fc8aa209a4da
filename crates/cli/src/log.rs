//! `--log FILE`: all output, with the time of each line, for unattended runs.

use anstream::adapter::strip_str;
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The text after the time of a log's first line, which identifies a file as a log.
const MARK: &str = "Z blockmill ";
/// Bytes of the time and the mark.
const HEAD: usize = "2026-01-31T23:59:59Z blockmill ".len();

/// The file, and the beginning of a line that is not complete.
static LOG: Mutex<Option<(File, String)>> = Mutex::new(None);

/// Appends all output to this file from now on. A file that is not such a log, such as an archive
/// named by mistake, stays unchanged.
pub fn to(path: &Path) -> Result<()> {
    let shown = path.display();
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create(true).open(path);
    let file = file.with_context(|| format!("cannot open the log {shown}"))?;
    let mut head = vec![];
    (&file).take(HEAD as u64).read_to_end(&mut head)?;
    let is_log = head.is_empty() || head.ends_with(MARK.as_bytes());
    ensure!(is_log, "--log {shown}: expected a new file or a log of blockmill, found another file");
    *LOG.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, String::new()));
    let args: Vec<_> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    add(&format!("blockmill {} begins: {}\n", env!("CARGO_PKG_VERSION"), args.join(" ")));
    Ok(())
}

/// Returns whether there is a log.
pub fn is_open() -> bool {
    LOG.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Appends output. After an error the log is closed: it must not end a run.
pub fn add(text: &str) {
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((file, begun)) = log.as_mut() else { return };
    let _ = write!(begun, "{}", strip_str(text));
    let Some(end) = begun.rfind('\n') else { return };
    let rest = begun.split_off(end + 1);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = blockmill_report::date_time(now.as_secs());
    let lines: String = begun.lines().map(|line| format!("{time} {line}\n")).collect();
    *begun = rest;
    if file.write_all(lines.as_bytes()).is_err() {
        *log = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_behind_the_time() {
        let line = format!("{} blockmill 0.1.0", blockmill_report::date_time(0));
        assert!(line[..HEAD].ends_with(MARK), "{line}");
    }
}
