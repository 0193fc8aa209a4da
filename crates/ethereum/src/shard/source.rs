//! SHA-256 of the files that were read, which identify the bytes that a verdict is about.

use super::summary::Source;
use blockmill_archive::Archive;
use blockmill_hashes::Sha256;
use blockmill_platform::files;
use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Digits;
use std::io::{self, Read};
use std::path::Path;

/// Size of a read, in bytes.
const READ_BYTES: usize = 1 << 20;

/// The files of `archive`, or its folder.
pub(super) fn sources(archive: &Archive) -> io::Result<Vec<Source>> {
    if let [folder] = archive.files()
        && files::is_folder(folder)?
    {
        let bytes = archive.disk_bytes();
        return Ok(vec![Source { path: folder.clone(), bytes, sha256: None }]);
    }
    archive.files().iter().map(|file| of_file(file)).collect()
}

fn of_file(path: &Path) -> io::Result<Source> {
    if blockmill_archive::is_pipe(path) {
        return Ok(Source { path: path.to_path_buf(), bytes: 0, sha256: None });
    }
    let file = InputFile::open(path)?;
    let mut file = file.reader();
    let (mut sha256, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; READ_BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => {
                bytes += read as u64;
                sha256.update(&buffer[..read]);
            }
        }
    }
    let sha256 = Some(Digits(&sha256.finalize()).to_string());
    Ok(Source { path: path.to_path_buf(), bytes, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_the_hash_of_all_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        std::fs::write(&path, b"abc").unwrap();
        let source = of_file(&path).unwrap();
        // FIPS 180-4, example 1
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((source.bytes, source.sha256.as_deref()), (3, Some(expected)));
        assert!(of_file(&folder.path().join("none")).is_err());
    }
}
