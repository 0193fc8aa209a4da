//! What a path leads to. [`Path::is_file`], [`Path::is_dir`] and [`Path::exists`] answer "no" to
//! any error of the system: a file that cannot be opened would be passed over. So nothing else in
//! this program asks them, and a test of its style holds it to that.

use std::fmt;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::remote;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing has that name.
    Absent,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; only [`kind_of_name`] finds one.
    Link,
    /// A pipe with a name.
    Pipe,
    /// A socket.
    Socket,
    /// A device: it could wait for ever, or never end.
    Device,
}

impl FileKind {
    /// Returns the kind of an open file or of an entry of a folder.
    #[must_use]
    pub fn of(found: FileType) -> Self {
        match () {
            () if found.is_file() => Self::File,
            () if found.is_dir() => Self::Folder,
            () if found.is_symlink() => Self::Link,
            () => other(found),
        }
    }
}

#[cfg(unix)]
fn other(found: FileType) -> FileKind {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if found.is_fifo() => FileKind::Pipe,
        () if found.is_socket() => FileKind::Socket,
        () => FileKind::Device,
    }
}

#[cfg(not(unix))]
fn other(_: FileType) -> FileKind {
    FileKind::Device
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "nothing",
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

/// Returns the kind of the file at a path, through links.
///
/// # Errors
///
/// Returns the error of the operating system if the path cannot be resolved: a dangling or circular
/// link, a folder without permission, a failing device.
pub fn kind(path: &Path) -> io::Result<FileKind> {
    if let Some(remote) = remote::of(path)? {
        return remote.kind(path);
    }
    match fs::metadata(or_here(path)) {
        Ok(found) => Ok(FileKind::of(found.file_type())),
        Err(error) => absent(path, error).map(|()| FileKind::Absent),
    }
}

/// Returns the kind of the file at a path without following a link at its end.
///
/// # Errors
///
/// As [`kind`], except for a link itself.
pub fn kind_of_name(path: &Path) -> io::Result<FileKind> {
    if let Some(remote) = remote::of(path)? {
        return remote.kind(path);
    }
    match fs::symlink_metadata(or_here(path)) {
        Ok(found) => Ok(FileKind::of(found.file_type())),
        Err(error) => absent(path, error).map(|()| FileKind::Absent),
    }
}

/// Converts the error of opening or reading an absent file to `None`.
///
/// # Errors
///
/// Returns the error of `result`, unless it says that the file is absent and it is.
pub fn if_there<T>(path: &Path, result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) => absent(path, error).map(|()| None),
    }
}

/// Whether the path is a regular file.
///
/// # Errors
///
/// As [`kind`].
pub fn is_file(path: &Path) -> io::Result<bool> {
    Ok(kind(path)? == FileKind::File)
}

/// Whether the path is a folder.
///
/// # Errors
///
/// As [`kind`].
pub fn is_folder(path: &Path) -> io::Result<bool> {
    Ok(kind(path)? == FileKind::Folder)
}

/// Whether the path exists.
///
/// # Errors
///
/// As [`kind`].
pub fn is_there(path: &Path) -> io::Result<bool> {
    Ok(kind(path)? != FileKind::Absent)
}

/// Lists the paths in a folder, in no order; empty if there is no folder.
///
/// # Errors
///
/// Returns the error of the operating system if the folder cannot be read to its end, and as
/// [`kind`].
pub fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if kind(folder)? == FileKind::Absent {
        return Ok(vec![]);
    }
    if let Some(remote) = remote::of(folder)? {
        return remote.list(folder);
    }
    fs::read_dir(or_here(folder))?.map(|entry| Ok(entry?.path())).collect()
}

/// Length of a file, through links.
///
/// # Errors
///
/// Returns the error of the operating system or of the server if the file cannot be found.
pub fn length(path: &Path) -> io::Result<u64> {
    match remote::of(path)? {
        Some(remote) => Ok(remote.open(path)?.length()),
        None => Ok(fs::metadata(path)?.len()),
    }
}

/// Reads some bytes of an open file from `offset` on.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

/// Reads some bytes of an open file from `offset` on.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

/// Checks that a path is not a link, because writing to it would change another file.
///
/// # Errors
///
/// Returns an error if it is a link, and as [`kind_of_name`].
pub fn expect_no_link(path: &Path) -> io::Result<()> {
    match kind_of_name(path)? {
        FileKind::Link => {
            let target = fs::read_link(path)?;
            let (path, target) = (path.display(), target.display());
            let text = format!("{path} is a link to {target}: nothing is written through a link");
            Err(io::Error::other(text))
        }
        _ => Ok(()),
    }
}

/// Removes a file, a folder with its content, or a link but not its target.
///
/// # Errors
///
/// Returns the error of the operating system, also if the path does not exist.
pub fn remove(path: &Path) -> io::Result<()> {
    match kind_of_name(path)? {
        FileKind::Folder => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    }
}

/// The parent of a name alone is the folder of the process.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Succeeds when nothing is at `path`, for which the system answered `error`. A link without a
/// target on the way there is no such answer: what should be there cannot be known.
fn absent(path: &Path, error: io::Error) -> io::Result<()> {
    let is_absent = |kind| matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory);
    if !is_absent(error.kind()) {
        return Err(error);
    }
    if remote::is_remote(path) {
        // the server has answered so
        return Ok(());
    }
    for above in path.ancestors() {
        match fs::symlink_metadata(or_here(above)) {
            Ok(found) if found.is_symlink() => return expect_target(above),
            Ok(_) => return Ok(()),
            Err(error) if is_absent(error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fails when a link leads nowhere.
fn expect_target(link: &Path) -> io::Result<()> {
    match fs::metadata(link) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let target = fs::read_link(link)?;
            let (link, target) = (link.display(), target.display());
            let text = format!("the link {link} leads to {target}, which is not there");
            Err(io::Error::other(text))
        }
        found => found.map(|_| ()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    /// A folder of a name of its own, which goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("blockmill-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn each_kind_is_found_through_links_and_by_its_name() {
        let folder = Folder::new("kinds");
        let path = |name: &str| folder.0.join(name);
        fs::write(path("file"), "text").unwrap();
        let _socket = UnixListener::bind(path("socket")).unwrap();
        for (target, expected) in [
            ("file", FileKind::File),
            (".", FileKind::Folder),
            ("socket", FileKind::Socket),
            ("/dev/null", FileKind::Device),
        ] {
            let _ = fs::remove_file(path("link"));
            symlink(target, path("link")).unwrap();
            assert_eq!(kind(&path("link")).unwrap(), expected, "{target}");
            assert_eq!(kind_of_name(&path("link")).unwrap(), FileKind::Link, "{target}");
            assert_eq!(kind(&path(target)).unwrap(), expected, "{target}");
        }
        for name in ["none", "none/none", "file/none", "link/none"] {
            assert_eq!(kind(&path(name)).unwrap(), FileKind::Absent, "{name}");
            assert_eq!(kind_of_name(&path(name)).unwrap(), FileKind::Absent, "{name}");
        }
        assert_eq!(kind(Path::new("")).unwrap(), FileKind::Folder);
        assert!(list(&path("none")).unwrap().is_empty());
        assert_eq!(list(&folder.0).unwrap().len(), 3);
    }

    #[test]
    fn a_path_that_the_system_does_not_resolve_is_an_error_and_not_absent() {
        let folder = Folder::new("errors");
        let path = |name: &str| folder.0.join(name);
        let long = "x".repeat(300);
        for (link, target) in [("dangling", "nowhere"), ("loop", "loop"), ("long", &*long)] {
            symlink(target, path(link)).unwrap();
            for name in [link.to_string(), format!("{link}/below"), format!("{link}/below/it")] {
                assert!(kind(&path(&name)).is_err(), "{name}");
                assert!(list(&path(&name)).is_err(), "{name}");
            }
            assert_eq!(kind_of_name(&path(link)).unwrap(), FileKind::Link, "{link}");
        }
        assert!(if_there(&path("dangling"), fs::read(path("dangling"))).is_err());
        assert!(if_there(&path("none"), fs::read(path("none"))).unwrap().is_none());
        let reported = kind(&path("dangling/below")).unwrap_err().to_string();
        assert!(reported.contains("dangling leads to nowhere"), "{reported}");
    }
}
