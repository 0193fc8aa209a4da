//! Room on disk, and files that may not grow.

use blockmill_platform::files;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Free bytes on the disk of `path`, which need not exist; `None` if the system does not report it.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    // where the system does not say what is there, it does not say its room either
    let there = absolute.ancestors().find(|folder| files::is_there(folder).unwrap_or(true))?;
    free_at(there)
}

#[cfg(unix)]
fn free_at(path: &Path) -> Option<u64> {
    let found = nix::sys::statvfs::statvfs(path).ok()?;
    // some systems do not count blocks at all
    let counts = found.blocks() > 0;
    // narrower on some systems
    #[allow(clippy::useless_conversion)]
    let bytes = u64::from(found.blocks_available()).checked_mul(found.fragment_size());
    bytes.filter(|_| counts)
}

#[cfg(not(unix))]
fn free_at(_: &Path) -> Option<u64> {
    None
}

/// Fails if `needed` bytes do not fit on the disk of `path`, as writing them would fail in the end.
/// Succeeds if the system does not report free bytes.
pub fn expect_room(path: &Path, needed: u64) -> io::Result<()> {
    match free_bytes(path) {
        Some(free) if free < needed => {
            let missing = needed - free;
            let text = format!(
                "expected room for {needed} bytes, found {free}: {missing} bytes are missing \
                 (--no-space-check goes on without looking)"
            );
            Err(io::Error::new(io::ErrorKind::StorageFull, text))
        }
        _ => Ok(()),
    }
}

/// Returns whether an error means a full disk, a quota or a limit of file sizes.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, WriteZero};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | WriteZero)
}

/// Returns whether a message means a full disk, a quota or a limit of file sizes.
pub fn tells_full(message: &str) -> bool {
    full_codes().iter().any(|code| {
        let said = io::Error::from_raw_os_error(*code).to_string();
        message.contains(&said)
    })
}

#[cfg(unix)]
fn full_codes() -> [i32; 3] {
    use nix::errno::Errno::{EDQUOT, EFBIG, ENOSPC};
    [ENOSPC, EDQUOT, EFBIG].map(|code| code as i32)
}

#[cfg(not(unix))]
fn full_codes() -> [i32; 0] {
    []
}

/// Replaces the content of `path` by `text` atomically: a reader never sees half a file, and the
/// old one survives a crash and a full disk. The process id in the name of the temporary file keeps
/// two programs that write the same record apart.
///
/// # Errors
/// Returns the error of the operating system; `path` is unchanged then.
pub fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let sibling = path.with_file_name(name);
    files::expect_no_link(&sibling)?;
    let written = File::create(&sibling)
        .and_then(|mut file| {
            file.write_all(text)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&sibling, path));
    if written.is_err() {
        // The first error is the one to report; a leftover file does no harm.
        let _ = fs::remove_file(&sibling);
    }
    written
}

/// Lets a write beyond the limit of file sizes (`ulimit -f`) fail, instead of ending the process
/// by a signal. Holds for this thread and for those that it starts.
pub fn report_file_size_limit() {
    #[cfg(unix)]
    {
        use nix::sys::signal::{SigSet, Signal};
        let mut set = SigSet::empty();
        set.add(Signal::SIGXFSZ);
        // where that fails the process ends as it would without it
        let _ = set.thread_block();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_that_of_the_folder_above_what_is_not_there_yet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("not/there/yet");
        assert!(free_bytes(&path).is_some_and(|free| free > 0));
        expect_room(&path, 1).unwrap();
        let error = expect_room(&path, u64::MAX).unwrap_err();
        assert!(is_full(&error), "{error}");
        assert!(error.to_string().contains("bytes are missing"), "{error}");
    }

    #[test]
    fn a_full_disk_is_known_by_what_the_system_says() {
        for code in full_codes() {
            let error = io::Error::from_raw_os_error(code);
            assert!(is_full(&error), "{error}");
            assert!(tells_full(&format!("coins.run: cannot write: {error}")));
        }
        assert!(!tells_full("cannot open: No such file or directory (os error 2)"));
    }
}
