//! Rules on what an output may replace: nothing unless the user says so, and never an input.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use blockmill_platform::files::{self, FileKind};

use super::identity::{resolved, same};
use super::{SET_ASIDE, UNFINISHED, expect_free, named};
use crate::{Error, listing};

/// The shape of an output.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// One file.
    File,
    /// A folder. It may replace a folder in which the function accepts every file by its path
    /// there, so that no folder with other files is lost.
    Folder(fn(&Path) -> bool),
    /// Files in a folder that may have others; the writer checks each name.
    FilesIn,
}

/// The permission to write an output. What it replaces is set aside under another name until
/// [`Claim::done`], and is put back if that is never called.
#[derive(Debug)]
pub struct Claim {
    out: PathBuf,
    aside: Option<PathBuf>,
}

impl Claim {
    /// Checks everything that `out` could overwrite, before anything is written.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if `out` is an input, contains one or is inside one, and if it
    /// exists and `replace` is false.
    pub fn new(out: &Path, inputs: &[PathBuf], shape: Shape, replace: bool) -> Result<Self, Error> {
        keep_apart(out, inputs, shape)?;
        let aside = named(out, SET_ASIDE);
        restore(out, &aside)?;
        let mut claim = Self { out: out.to_path_buf(), aside: None };
        let wants_folder = !matches!(shape, Shape::File);
        let Err(error) = expect_free(out, wants_folder) else { return Ok(claim) };
        if let Error::Io { .. } = error {
            return Err(error);
        }
        if matches!(shape, Shape::FilesIn) && listing::is_folder(out)? {
            return Ok(claim);
        }
        match shape {
            _ if !replace => return Err(with_hint(error)),
            Shape::FilesIn => return Err(error),
            Shape::File if listing::is_folder(out)? => return Err(error),
            Shape::File => {}
            Shape::Folder(made_here) => only_ours(out, made_here, error)?,
        }
        fs::rename(out, &aside).map_err(Error::io("cannot set aside", out))?;
        claim.aside = Some(aside);
        Ok(claim)
    }

    /// Completes the output: removes what it replaces.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if that cannot be removed.
    pub fn done(mut self) -> Result<(), Error> {
        let Some(aside) = self.aside.take() else { return Ok(()) };
        files::remove(&aside).map_err(Error::io("cannot remove", &aside))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(aside) = self.aside.take() {
            // the next run tries again
            let _ = restore(&self.out, &aside);
        }
    }
}

/// Puts back what an unfinished run had set aside, or removes it if that run completed its output.
fn restore(out: &Path, aside: &Path) -> Result<(), Error> {
    let kind = |path| files::kind_of_name(path).map_err(Error::io("cannot open", path));
    match (kind(aside)?, kind(out)?) {
        (FileKind::Absent, _) => Ok(()),
        (_, FileKind::Absent) => {
            fs::rename(aside, out).map_err(Error::io("cannot put back", aside))
        }
        _ => files::remove(aside).map_err(Error::io("cannot remove", aside)),
    }
}

/// Checks that writing `out` cannot touch an input, by whatever name.
///
/// # Errors
///
/// Returns [`Error::Unwritable`] if `out` is an input, contains one and may be replaced, or is
/// inside one.
pub fn keep_apart(out: &Path, inputs: &[PathBuf], shape: Shape) -> Result<(), Error> {
    inputs.iter().try_for_each(|input| keep_apart_from(out, input, shape))
}

fn keep_apart_from(out: &Path, input: &Path, shape: Shape) -> Result<(), Error> {
    let unwritable = |found: String| Error::Unwritable {
        path: out.to_path_buf(),
        expected: "an output apart from all inputs".into(),
        found,
    };
    let name = input.display();
    let (to, from) = (resolved(out)?, resolved(input)?);
    if to == from || same(out, input) {
        return Err(unwritable(format!("the input {name}")));
    }
    for ending in [UNFINISHED, SET_ASIDE] {
        if resolved(&named(out, ending))? == from {
            return Err(unwritable(format!("the input {name} in the way of {ending} files")));
        }
    }
    if to.starts_with(&from) && listing::is_folder(&from)? {
        return Err(unwritable(format!("a path inside the input {name}")));
    }
    if matches!(shape, Shape::Folder(_)) && from.starts_with(&to) {
        return Err(unwritable(format!("a folder that holds the input {name}")));
    }
    Ok(())
}

/// Fails if a folder has a file that `made_here` does not accept.
fn only_ours(folder: &Path, made_here: fn(&Path) -> bool, error: Error) -> Result<(), Error> {
    let kind = |path: &Path| files::kind_of_name(path).map_err(Error::io("cannot open", path));
    if kind(folder)? != FileKind::Folder {
        return Err(error);
    }
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for path in files::list(&at).map_err(Error::io("cannot list", &at))? {
            if kind(&path)? == FileKind::Folder {
                folders.push(path);
            } else if !path.strip_prefix(folder).is_ok_and(made_here) {
                return Err(Error::Unwritable {
                    path: folder.to_path_buf(),
                    expected: "only files that this format has, even with --force".into(),
                    found: path.display().to_string(),
                });
            }
        }
    }
    Ok(())
}

fn with_hint(error: Error) -> Error {
    match error {
        Error::Unwritable { path, expected, found } => {
            Error::Unwritable { path, expected: format!("{expected}, or --force"), found }
        }
        other => other,
    }
}

/// Checks that a store in `data` is not an input, inside one or around one, by whatever name. An
/// import, and a later repair, write and remove files there.
///
/// # Errors
///
/// Returns [`Error::Unwritable`] if it is, and [`Error::Io`] if the paths cannot be resolved.
pub fn keep_store_apart(data: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    keep_apart(data, inputs, Shape::Folder(|_| false))
}

/// Whether a file has the name `stem` + at least four digits + `ending`.
pub fn is_numbered(name: &OsStr, stem: &str, ending: &str) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(stem)?.strip_suffix(ending));
    digits.is_some_and(|digits| digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Shape = Shape::Folder(|_| true);

    fn refused(out: &Path, input: &Path, shape: Shape, replace: bool) -> bool {
        let claim = Claim::new(out, &[input.to_path_buf()], shape, replace);
        matches!(claim, Err(Error::Unwritable { .. }))
    }

    #[test]
    fn an_input_is_never_an_output_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("in/side")).unwrap();
        fs::write(path("in/a"), "a").unwrap();
        fs::hard_link(path("in/a"), path("hard")).unwrap();
        std::os::unix::fs::symlink("in/a", path("soft")).unwrap();
        std::os::unix::fs::symlink("in", path("link")).unwrap();
        for replace in [false, true] {
            for out in ["in/a", "in/side/../a", "hard", "soft", "link/a"] {
                assert!(refused(&path(out), &path("in/a"), Shape::File, replace), "{out}");
            }
            for out in ["in/new", "in/side/new", "link/new", "in"] {
                assert!(refused(&path(out), &path("in"), Shape::File, replace), "{out}");
                assert!(refused(&path(out), &path("in"), ANY, replace), "{out}");
            }
            // a folder would replace all that is in it
            assert!(refused(&path("in"), &path("in/a"), ANY, replace));
            assert!(refused(&path("link"), &path("in/a"), ANY, replace));
            let left = path("out.blockmill.part");
            assert!(refused(&path("out"), &left, Shape::File, replace));
        }
        assert!(!refused(&path("other"), &path("in"), Shape::File, false));
        assert_eq!(fs::read(path("in/a")).unwrap(), b"a");
    }

    #[test]
    fn what_is_replaced_comes_back_unless_the_output_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        fs::write(&out, "old").unwrap();
        assert!(Claim::new(&out, &[], Shape::File, false).is_err());
        drop(Claim::new(&out, &[], Shape::File, true).unwrap());
        assert_eq!(fs::read(&out).unwrap(), b"old");

        // a process that dies says nothing
        std::mem::forget(Claim::new(&out, &[], Shape::File, true).unwrap());
        assert!(!out.exists());
        assert!(Claim::new(&out, &[], Shape::File, false).is_err(), "it is back, and stays");
        assert_eq!(fs::read(&out).unwrap(), b"old");

        let claim = Claim::new(&out, &[], Shape::File, true).unwrap();
        fs::write(&out, "new").unwrap();
        claim.done().unwrap();
        assert_eq!(fs::read(&out).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_with_foreign_files_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("blocks");
        fs::create_dir(&out).unwrap();
        let shape = Shape::Folder(|path| is_numbered(path.as_os_str(), "blk", ".dat"));
        Claim::new(&out, &[], shape, false).unwrap();
        fs::write(out.join("blk00000.dat"), "old").unwrap();
        assert!(Claim::new(&out, &[], shape, false).is_err());
        drop(Claim::new(&out, &[], shape, true).unwrap());
        fs::write(out.join("wallet.dat"), "precious").unwrap();
        assert!(Claim::new(&out, &[], shape, true).is_err());
        assert!(Claim::new(&out, &[], Shape::File, true).is_err());
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
    }
}
