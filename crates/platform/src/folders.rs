//! Folders: names that become durable, and two folders that exchange their names in one step.
#![allow(unsafe_code)]

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
/// divide. Both must be on one file system. A system or a file system that cannot do this exchanges
/// the names in three steps: after a kill in between, `a` is at the name of `b` with `.old`
/// appended, and nothing is lost.
///
/// # Errors
///
/// Returns the error of renaming. Both folders keep their names then.
pub fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    if in_one_step(a, b)? { Ok(()) } else { in_three_steps(a, b) }
}

/// Exchanges two names by the system call, because musl has no function `renameat2`. Returns
/// `false` if the kernel (before Linux 3.15) or the file system has no such exchange.
#[cfg(target_os = "linux")]
fn in_one_step(a: &Path, b: &Path) -> io::Result<bool> {
    use nix::errno::Errno;
    use nix::libc::{AT_FDCWD, RENAME_EXCHANGE, SYS_renameat2, syscall};
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    let a = CString::new(a.as_os_str().as_bytes())?;
    let b = CString::new(b.as_os_str().as_bytes())?;
    // SAFETY: both names end with a zero byte and outlive the call, which only reads them.
    let result = unsafe {
        syscall(SYS_renameat2, AT_FDCWD, a.as_ptr(), AT_FDCWD, b.as_ptr(), RENAME_EXCHANGE)
    };
    match Errno::result(result) {
        Ok(_) => Ok(true),
        Err(Errno::EINVAL | Errno::ENOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn in_one_step(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

fn in_three_steps(a: &Path, b: &Path) -> io::Result<()> {
    let mut old = b.as_os_str().to_owned();
    old.push(".old");
    std::fs::rename(a, &old)?;
    // the first error is the one to report
    std::fs::rename(b, a).inspect_err(|_| drop(std::fs::rename(&old, a)))?;
    std::fs::rename(&old, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// Two folders, each with a file of its name.
    fn two_folders(test: &str) -> (PathBuf, [PathBuf; 2]) {
        let root = std::env::temp_dir().join(format!("blockmill-{test}-{}", std::process::id()));
        let folders = ["a", "b"].map(|name| root.join(name));
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("name"), folder.file_name().unwrap().as_encoded_bytes()).unwrap();
        }
        (root, folders)
    }

    fn name_in(folder: &Path) -> String {
        fs::read_to_string(folder.join("name")).unwrap()
    }

    #[test]
    fn folders_exchange_their_names() {
        let ways = ["exchange", "three-steps"].into_iter().zip([exchange, in_three_steps]);
        for (way, exchange) in ways {
            let (root, [a, b]) = two_folders(way);
            exchange(&a, &b).unwrap();
            assert_eq!((name_in(&a), name_in(&b)), ("b".to_owned(), "a".to_owned()), "{way}");
            assert_eq!(fs::read_dir(&root).unwrap().count(), 2, "{way}");
            fs::remove_dir_all(root).unwrap();
        }
    }

    /// With glibc and with musl.
    #[test]
    #[cfg(target_os = "linux")]
    fn linux_exchanges_names_in_one_step() {
        let (root, [a, b]) = two_folders("one-step");
        assert!(in_one_step(&a, &b).unwrap());
        assert_eq!((name_in(&a), name_in(&b)), ("b".to_owned(), "a".to_owned()));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn folders_keep_their_names_after_an_error() {
        let (root, [a, b]) = two_folders("failed-exchange");
        let missing = root.join("missing");
        for exchange in [exchange, in_three_steps] {
            for (a, b) in [(&a, &missing), (&missing, &a)] {
                assert_eq!(exchange(a, b).unwrap_err().kind(), io::ErrorKind::NotFound);
            }
        }
        // a file system answers `EINVAL` to this, too
        let inner = a.join("inner");
        fs::create_dir(&inner).unwrap();
        exchange(&a, &inner).unwrap_err();
        exchange(&inner, &a).unwrap_err();
        assert_eq!((name_in(&a), name_in(&b)), ("a".to_owned(), "b".to_owned()));
        assert!(inner.is_dir());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 2);
        fs::remove_dir_all(root).unwrap();
    }
}
