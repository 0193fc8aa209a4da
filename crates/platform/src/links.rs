//! A second name for the bytes of a file, so that they need not be copied.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The way in which two files share their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// Blocks of the disk are shared until one of them is written to (a reflink): what happens to
    /// one file never shows in the other.
    Blocks,
    /// Both are names of one file (a hard link): what is written to one is in the other.
    File,
}

/// Creates the file `new` with the bytes of `old` without copying them: by sharing blocks if the
/// file system can, otherwise as a hard link.
///
/// # Errors
///
/// Returns the error of the operating system if neither is possible, as on another file system, or
/// if `new` exists. No file is left then.
pub fn share(old: &Path, new: &Path) -> io::Result<Shared> {
    if share_blocks(old, new)? {
        return Ok(Shared::Blocks);
    }
    // the file itself, not a symbolic link to it
    fs::hard_link(fs::canonicalize(old)?, new)?;
    Ok(Shared::File)
}

#[cfg(target_os = "linux")]
mod request {
    // FICLONE of linux/fs.h: its argument is the descriptor of the source file
    nix::ioctl_write_int!(clone_from, 0x94, 9);
}

#[cfg(target_os = "linux")]
fn share_blocks(old: &Path, new: &Path) -> io::Result<bool> {
    use std::os::fd::AsRawFd;
    let (from, to) = (File::open(old)?, File::create_new(new)?);
    let source = from.as_raw_fd() as nix::sys::ioctl::ioctl_param_type;
    // SAFETY: both descriptors belong to open files.
    if unsafe { request::clone_from(to.as_raw_fd(), source) }.is_ok() {
        to.sync_all()?;
        return Ok(true);
    }
    drop(to);
    fs::remove_file(new)?;
    Ok(false)
}

#[cfg(not(target_os = "linux"))]
fn share_blocks(old: &Path, _: &Path) -> io::Result<bool> {
    File::open(old).map(|_| false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_file_has_the_same_bytes_and_nothing_is_replaced() {
        let folder = std::env::temp_dir().join(format!("blockmill-links-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        fs::write(path("old"), "bytes").unwrap();
        std::os::unix::fs::symlink("old", path("link")).unwrap();
        for (old, new) in [("old", "first"), ("link", "second")] {
            share(&path(old), &path(new)).unwrap();
            assert!(fs::symlink_metadata(path(new)).unwrap().is_file());
            assert_eq!(fs::read(path(new)).unwrap(), b"bytes");
        }
        fs::write(path("other"), "other").unwrap();
        assert!(share(&path("old"), &path("other")).is_err());
        assert_eq!(fs::read(path("other")).unwrap(), b"other");
        assert!(share(&path("missing"), &path("third")).is_err());
        assert!(!path("third").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
