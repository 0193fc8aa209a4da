//! Folders: names that become durable, and two folders that exchange their names in one step.

use std::io;
use std::path::Path;

/// Makes the names in a folder durable, on systems that can open a folder (Unix).
///
/// # Errors
///
/// Returns the error of opening or syncing the folder.
pub fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Gives folder `a` the name of folder `b` and the other way round, in one step that a kill cannot
/// divide. Both must be on one file system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    match renameat2(AT_FDCWD, a, AT_FDCWD, b, RenameFlags::RENAME_EXCHANGE) {
        Err(Errno::EINVAL | Errno::ENOSYS) => in_three_steps(a, b),
        result => result.map_err(io::Error::from),
    }
}

/// Exchanges two names in three steps. After a kill in between, `a` is at the name of `b` with
/// `.old` appended, and nothing is lost.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    in_three_steps(a, b)
}

fn in_three_steps(a: &Path, b: &Path) -> io::Result<()> {
    let mut old = b.as_os_str().to_owned();
    old.push(".old");
    std::fs::rename(a, &old)?;
    std::fs::rename(b, a)?;
    std::fs::rename(&old, b)
}
