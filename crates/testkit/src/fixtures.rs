//! Files outside of this repository. What is not there fails the test, with the way to get it:
//! that a test is ignored instead is for [`needs`](crate::needs) to say.

use crate::place::path_of;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Unpacked bytes that a test program keeps, all files together.
const KEPT_BYTES: usize = 192 << 20;

/// The folder of real chain data.
#[track_caller]
pub fn fixtures() -> PathBuf {
    path_of("fixtures")
}

/// A file or folder of the real chain data: `bitcoin/mainnet-0-4521.dat`.
#[track_caller]
pub fn fixture(name: impl AsRef<Path>) -> PathBuf {
    let path = fixtures().join(name);
    assert!(path.exists(), "the fixtures lack {}", path.display());
    path
}

/// A file or folder of the cases, inputs that an earlier program answered wrongly:
/// `05-overlapping-ethereum-exports/dup.rlp`.
#[track_caller]
pub fn case(name: impl AsRef<Path>) -> PathBuf {
    let path = path_of("cases").join(name);
    assert!(path.exists(), "the cases lack {}", path.display());
    path
}

/// The bytes of a file of the cases; of a `.zst` file what is packed in it.
#[track_caller]
pub fn read_case(name: impl AsRef<Path>) -> Vec<u8> {
    let path = case(name);
    let packed = path.extension().is_some_and(|ending| ending == "zst");
    let bytes = if packed { unpacked(&path) } else { fs::read(&path) };
    bytes.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The bytes of a file of the real chain data; of a `.zst` file what is packed in it. The last ones
/// read are kept, so that the tests of a program unpack a file once.
#[track_caller]
pub fn read(name: impl AsRef<Path>) -> Arc<Vec<u8>> {
    static KEPT: Mutex<VecDeque<(PathBuf, Arc<Vec<u8>>)>> = Mutex::new(VecDeque::new());
    let path = fixture(name);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, bytes)) = kept.iter().find(|(known, _)| *known == path) {
        return Arc::clone(bytes);
    }
    let packed = path.extension().is_some_and(|ending| ending == "zst");
    let bytes = if packed { unpacked(&path) } else { fs::read(&path) };
    let bytes = Arc::new(bytes.unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    kept.push_back((path, Arc::clone(&bytes)));
    while kept.len() > 1 && kept.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > KEPT_BYTES {
        kept.pop_front();
    }
    bytes
}

fn unpacked(path: &Path) -> std::io::Result<Vec<u8>> {
    zstd::decode_all(BufReader::new(File::open(path)?))
}

/// The files in a `.tar.zst` of the real chain data for which `wanted` says so, by their paths
/// without `./`, in the order of the archive. There is one at least.
#[track_caller]
pub fn tar_files(name: impl AsRef<Path>, wanted: impl Fn(&str) -> bool) -> Vec<(String, Vec<u8>)> {
    let archive = read(name.as_ref());
    let mut files = vec![];
    for entry in tar::Archive::new(&archive[..]).entries().expect("a tar archive") {
        let mut entry = entry.expect("an entry of a tar archive");
        let path = entry.path().expect("a path").to_string_lossy().into_owned();
        let path = path.strip_prefix("./").unwrap_or(&path);
        if entry.header().entry_type().is_file() && wanted(path) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).expect("a file of a tar archive");
            files.push((path.to_string(), bytes));
        }
    }
    assert!(!files.is_empty(), "{} has none of the files wanted", name.as_ref().display());
    files
}

/// Unpacks a `.tar.zst` of the real chain data into `folder`.
#[track_caller]
pub fn unpack(name: impl AsRef<Path>, folder: &Path) {
    tar::Archive::new(&read(name)[..]).unpack(folder).expect("a tar archive that can be unpacked");
}
