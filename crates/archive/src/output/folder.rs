//! Folders that appear whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use blockmill_platform::files;

use super::identity::device;
use super::{UNFINISHED, expect_free, forget, lock, named, note, remove, remove_leftover};
use crate::output::sync_folder_of;
use crate::{Error, listing};

/// An unfinished folder, next to its destination under a temporary name. [`OutputFolder::finish`]
/// renames it; dropping it removes it. The caller syncs the files in it.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    temporary: PathBuf,
    /// Folders above that were created for it, the deepest first.
    made_above: Vec<PathBuf>,
    /// The lock, while the folder is unfinished.
    _lock: Option<File>,
    finished: bool,
}

impl OutputFolder {
    /// Creates a folder that will be `target`, which must be absent or empty. Its parent folder is
    /// created if it is missing.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if `target` has content, if another process is writing it, or
    /// if it is a mount point, which cannot be replaced; and [`Error::Io`] if the folder cannot be
    /// created.
    pub fn create(target: &Path) -> Result<Self, Error> {
        expect_free(target, true)?;
        Self::next_to(target)
    }

    /// Creates a folder for files that [`OutputFolder::add_files`] adds to the folder `target`,
    /// which is there.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`OutputFolder::create`], but accepts a folder with content.
    pub fn for_files_in(target: &Path) -> Result<Self, Error> {
        Self::next_to(target)
    }

    fn next_to(target: &Path) -> Result<Self, Error> {
        let target: PathBuf = target.components().collect();
        let temporary = named(&target, UNFINISHED);
        let above = match target.parent() {
            Some(above) if !above.as_os_str().is_empty() => above,
            _ => Path::new("."),
        };
        if target.file_name().is_none()
            || device(&target).is_some_and(|of| Some(of) != device(above))
        {
            return Err(Error::Unwritable {
                path: target,
                expected: "a folder that can be created or replaced".into(),
                found: "the top of a file system: name a folder in it".into(),
            });
        }
        let made_above = missing(above).map_err(Error::io("cannot open", above))?;
        fs::create_dir_all(above).map_err(Error::io("cannot create", above))?;
        remove_leftover(&temporary)?;
        fs::create_dir(&temporary).map_err(Error::io("cannot create", &temporary))?;
        // not every system opens folders
        let opened = File::open(&temporary).ok();
        opened.as_ref().map_or(Ok(()), |folder| lock(folder, &temporary))?;
        note(&temporary);
        Ok(Self { target, temporary, made_above, _lock: opened, finished: false })
    }

    /// The path of the unfinished folder.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// The folder when it is complete.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Moves the files of the folder, and of the folders in it, to the same places in its
    /// destination. The caller has synced them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Unwritable`] if a file of that name is there, before anything is moved, and
    /// [`Error::Io`] if the system refuses.
    pub fn add_files(self) -> Result<(), Error> {
        let mut moves = vec![];
        let mut folders = vec![self.temporary.clone()];
        while let Some(folder) = folders.pop() {
            for path in files::list(&folder).map_err(Error::io("cannot list", &folder))? {
                if listing::is_folder(&path)? {
                    folders.push(path);
                    continue;
                }
                let place = path.strip_prefix(&self.temporary).unwrap_or(&path);
                let to = self.target.join(place);
                expect_free(&to, false)?;
                moves.push((path, to));
            }
        }
        moves.sort();
        for (from, to) in &moves {
            let above = to.parent().unwrap_or(&self.target);
            fs::create_dir_all(above).map_err(Error::io("cannot create", above))?;
            fs::rename(from, to).map_err(Error::io("cannot rename to", to))?;
        }
        moves.iter().try_for_each(|(_, to)| sync_folder_of(to))
    }

    /// Renames the folder to its destination. It is complete there or absent, even after a power
    /// failure.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if that fails, and [`Error::Unwritable`] if the destination exists by
    /// now.
    pub fn finish(mut self) -> Result<(), Error> {
        sync_folder_of(&self.temporary.join("any"))?;
        expect_free(&self.target, true)?;
        // not every system replaces an empty folder
        if listing::is_folder(&self.target)? {
            let removed = fs::remove_dir(&self.target);
            removed.map_err(Error::io("cannot replace", &self.target))?;
        }
        let renamed = fs::rename(&self.temporary, &self.target);
        renamed.map_err(Error::io("cannot rename to", &self.target))?;
        self.finished = true;
        forget(&self.temporary);
        sync_folder_of(&self.target)
    }
}

/// The folder, and those above it, that are not there.
fn missing(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut missing = vec![];
    for folder in folder.ancestors() {
        if files::is_there(folder)? {
            break;
        }
        missing.push(folder.to_path_buf());
    }
    Ok(missing)
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        if !self.finished {
            remove(&self.temporary);
            forget(&self.temporary);
            // one in which somebody has put something by now stays
            let _ = self.made_above.iter().try_for_each(fs::remove_dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appears_whole_and_replaces_only_an_empty_folder() {
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("made/here");
        fs::create_dir_all(&target).unwrap();
        let folder = OutputFolder::create(&target).unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        assert!(OutputFolder::create(&target).is_err(), "it is being written");
        folder.finish().unwrap();
        assert_eq!(fs::read(target.join("a")).unwrap(), b"a");
        assert!(matches!(OutputFolder::create(&target), Err(Error::Unwritable { .. })));
        assert_eq!(fs::read_dir(above.path().join("made")).unwrap().count(), 1);
    }

    #[test]
    fn files_are_added_to_those_of_a_folder_and_replace_none() {
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("out");
        fs::create_dir_all(target.join("sub")).unwrap();
        fs::write(target.join("a"), "a").unwrap();
        for (name, is_free) in [("sub/b", true), ("other/c", true), ("a", false)] {
            let folder = OutputFolder::for_files_in(&target).unwrap();
            assert!(OutputFolder::for_files_in(&target).is_err(), "it is being written");
            let new = folder.path().join(name);
            fs::create_dir_all(new.parent().unwrap()).unwrap();
            fs::write(&new, "new").unwrap();
            assert_eq!(folder.add_files().is_ok(), is_free, "{name}");
            assert_eq!(fs::read(target.join(name)).unwrap() == b"new", is_free);
            assert_eq!(fs::read_dir(above.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn half_a_folder_is_removed_by_its_writer_or_by_the_next_one() {
        let above = tempfile::tempdir().unwrap();
        let target = above.path().join("a");
        drop(OutputFolder::create(&target).unwrap());
        drop(OutputFolder::create(&above.path().join("made/for/it")).unwrap());
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 0);
        fs::create_dir(above.path().join("a.blockmill.part")).unwrap();
        fs::write(above.path().join("a.blockmill.part/blk00000.dat"), "half").unwrap();
        OutputFolder::create(&target).unwrap().finish().unwrap();
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
        assert_eq!(fs::read_dir(above.path()).unwrap().count(), 1);
    }
}
