//! Numbers, parts and files out of the bytes of one input. Missing bytes read as 0, so that every
//! input means something.

use std::fs;
use std::io;
use std::path::Path;

/// The rest of an input.
pub(crate) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let (now, later) = self.0.split_at(N.min(self.0.len()));
        self.0 = later;
        std::array::from_fn(|i| now.get(i).copied().unwrap_or(0))
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// The next eight bytes, little-endian.
    pub fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// Returns the next part: two bytes of length, little-endian, and so many bytes, or the rest.
    pub fn part(&mut self) -> &'a [u8] {
        let len = usize::from(u16::from_le_bytes(self.array()));
        let (part, later) = self.0.split_at(len.min(self.0.len()));
        self.0 = later;
        part
    }

    /// Writes the files `names` into `folder`: for each a byte, 1 when the file is there, and
    /// then its part.
    pub fn files(&mut self, names: &[&str], folder: &Path) -> io::Result<()> {
        for name in names {
            if self.byte() == 1 {
                fs::write(folder.join(name), self.part())?;
            }
        }
        Ok(())
    }
}

/// Appends what [`Input::part`] reads as `bytes`, of which there are less than 64 KiB.
pub(crate) fn put_part(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u16::try_from(bytes.len()).expect("a part is below 64 KiB");
    out.extend(len.to_le_bytes());
    out.extend(bytes);
}

/// The input that [`Input::files`] turns into the files that `folder` holds.
pub(crate) fn put_files(out: &mut Vec<u8>, names: &[&str], folder: &Path) {
    for name in names {
        match fs::read(folder.join(name)) {
            Ok(bytes) => {
                out.push(1);
                put_part(out, &bytes);
            }
            Err(_) => out.push(0),
        }
    }
}

/// An empty folder for one input, in `TMPDIR`. Panics without room for it.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for the files of one input")
}
