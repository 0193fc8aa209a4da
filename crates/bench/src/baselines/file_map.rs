//! A file as memory.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::{Advice, Mmap};

/// A file mapped to memory for reading here and there: a page is read from disk when a byte of it
/// is accessed, and not before.
///
/// A file that is cut by another program while it is mapped kills this process (SIGBUS) as soon as
/// the missing part is accessed; positioned reads fail with an error then. So map only files that
/// nobody writes to.
#[derive(Debug)]
pub struct FileMap(Option<Mmap>);

impl FileMap {
    /// Maps the whole of an open file. Fails when it cannot be mapped.
    pub fn of(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            // nothing cannot be mapped
            return Ok(Self(None));
        }
        // SAFETY: the map is private to this value and only read; that other programs leave the
        // file alone meanwhile is what the user of `read=map` promises (see above)
        let map = unsafe { Mmap::map(file) }?;
        // without this the kernel reads 128 KiB around each page
        map.advise(Advice::Random)?;
        Ok(Self(Some(map)))
    }
}

impl Deref for FileMap {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_bytes_of_a_file_even_of_an_empty_one() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("file");
        for bytes in [vec![], vec![7; 10_000]] {
            std::fs::write(&path, &bytes)?;
            assert_eq!(&FileMap::of(&File::open(&path)?)?[..], bytes);
        }
        Ok(())
    }
}
