//! Files of a folder that are not read. If one may have blocks, the archive counts as incomplete.
//! The rule is in `docs/formats/left-out.md`.

use std::path::{Path, PathBuf};

use blockmill_verdict::{Shortfall, ShortfallKind};
use serde::Serialize;

use crate::names::{is_harmless, without_packing};
use crate::{Error, foreign, packed};

/// Number of files that are listed by name.
const LISTED: usize = 20;

/// A file that was not read and may have blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// The file.
    #[serde(serialize_with = "blockmill_verdict::path::serialize")]
    pub path: PathBuf,
    /// A description of the file, and what to do with it.
    pub what: String,
}

/// Files of the folders of an archive that were not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LeftOut {
    unread: Vec<Unread>,
    /// Files without blocks in any known format.
    #[serde(skip)]
    other: Vec<PathBuf>,
}

impl LeftOut {
    /// Records a file in which no block was found.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Io`] if the file cannot be read.
    pub(crate) fn add(&mut self, path: PathBuf) -> Result<(), Error> {
        if is_harmless(&path) {
            return Ok(());
        }
        match what_may_hold_blocks(&path)? {
            Some(what) => self.unread.push(Unread { path, what }),
            None => self.other.push(path),
        }
        Ok(())
    }

    /// Removes the files whose unpacked content is in one of the files `read`.
    pub(crate) fn forget_sources_of<'a>(&mut self, read: impl Iterator<Item = &'a Path>) {
        let read: Vec<&str> = read.filter_map(|path| path.file_name()?.to_str()).collect();
        self.unread.retain(|unread| {
            let name = unread.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            !read.iter().any(|read| holds_the_same(name, read))
        });
    }

    /// The files that may have blocks.
    #[must_use]
    pub fn unread(&self) -> &[Unread] {
        &self.unread
    }

    /// The shortfalls that these files cause, and notes for the user. With `all` the requested
    /// blocks are known to be in the files that are read, so there are only notes.
    #[must_use]
    pub fn judge(&self, all: bool) -> (Vec<Shortfall>, Vec<String>) {
        let (mut shortfalls, mut notes) = (vec![], vec![]);
        for Unread { path, what } in self.unread.iter().take(LISTED) {
            match all {
                true => notes.push(format!("{}: not read: {what}", path.display())),
                false => shortfalls.push(shortfall(format!("not read: {what}"), path)),
            }
        }
        if let Some(more @ [first, ..]) = self.unread.get(LISTED..) {
            let text = format!("not read: {} more files like this", more.len());
            match all {
                true => notes.push(format!("{}: {text}", first.path.display())),
                false => shortfalls.push(shortfall(text, &first.path)),
            }
        }
        if let [first, ..] = &self.other[..] {
            let (count, first) = (self.other.len(), first.display());
            notes.push(format!("files without blocks, left out: {count}, the first {first}"));
        }
        (shortfalls, notes)
    }
}

fn shortfall(text: String, path: &Path) -> Shortfall {
    Shortfall { file: Some(path.to_path_buf()), ..Shortfall::new(ShortfallKind::Unread, text) }
}

/// Describes a file that is not read and may have blocks, and what to do with it.
fn what_may_hold_blocks(path: &Path) -> Result<Option<String>, Error> {
    Ok(packed::describe(path)?.or_else(|| foreign::what_it_is(path)))
}

/// Whether the file `read` has the content of `name`: the same file, unpacked.
fn holds_the_same(name: &str, read: &str) -> bool {
    without_packing(name) == without_packing(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(files: &[(&str, &[u8])], read: &[&str]) -> (Vec<String>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut left_out = LeftOut::default();
        for (name, bytes) in files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            left_out.add(folder.path().join(name)).unwrap();
        }
        left_out.forget_sources_of(read.iter().map(Path::new));
        let (shortfalls, notes) = left_out.judge(false);
        let (none, more) = left_out.judge(true);
        assert!(none.is_empty());
        assert_eq!(more.len(), shortfalls.len() + notes.len());
        let name = |shortfall: &Shortfall| {
            let file = shortfall.file.as_ref().unwrap().file_name().unwrap();
            file.to_str().unwrap().to_owned()
        };
        (shortfalls.iter().map(name).collect(), notes.len())
    }

    #[test]
    fn packed_and_foreign_files_may_hold_blocks_and_texts_do_not() {
        let packed = [
            ("a.acc.7z", &b""[..]),
            ("blk00001.dat.rar", b""),
            ("c.7z", b""),
            ("d", b"Rar!...."),
            ("e.tar", b""),
            ("v1-000000-000500-headers.seg", b""),
        ];
        let (found, notes) = judged(&packed, &[]);
        assert_eq!(found, packed.map(|(name, _)| name));
        assert_eq!(notes, 0);
        let texts = [
            ("README", &b"text"[..]),
            ("checksums.txt", b"text"),
            ("genesis.json", b"{}"),
            ("genesis.json.zip", b""),
            ("rev00000.dat", b"undo"),
            ("xor.dat", b"12345678"),
            ("LOCK", b""),
        ];
        assert_eq!(judged(&texts, &[]), (vec![], 0));
        // nothing is known of this one, so it is mentioned
        assert_eq!(judged(&[("data.bin", b"\0\x01\x02")], &[]), (vec![], 1));
    }

    #[test]
    fn a_file_that_was_read_in_another_form_lacks_nothing() {
        let files = [("a.acc.7z", &b""[..]), ("b.acc.7z", b"")];
        let read = ["a.acc"];
        assert_eq!(judged(&files, &read), (vec!["b.acc.7z".to_owned()], 0));
    }

    #[test]
    fn many_files_are_one_line_more() {
        let names: Vec<String> = (0..LISTED + 5).map(|i| format!("{i}.rar")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b""[..])).collect();
        assert_eq!(judged(&files, &[]).0.len(), LISTED + 1);
    }
}
