//! Files of a server that fails in each way that servers do, read as a reader of archives reads.

use blockmill_platform::files::{self, FileKind};
use blockmill_platform::input_file::InputFile;
use blockmill_remote::{Options, mount};
use blockmill_testkit::Random;
use blockmill_testkit::server::{Answer, Request, Server};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longer than several requests.
const LENGTH: usize = (9 << 20) + 123;

/// A folder with two files, and a list of them.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut random = Random::new(7);
        for name in ["a.bin", "b.bin"] {
            let bytes: Vec<u8> = (0..LENGTH).map(|_| random.next_u64() as u8).collect();
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let hash = "ab".repeat(32);
        fs::write(folder.path().join("checksums.txt"), format!("{hash}  a.bin\n{hash}  b.bin\n"))
            .unwrap();
        Self(folder)
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.path().join(name)).unwrap()
    }

    fn serve(&self, answers: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Server {
        Server::start(self.0.path(), answers)
    }
}

fn read(url: &Path) -> io::Result<Vec<u8>> {
    InputFile::open(url)?.read_whole()
}

/// Reads both files of a folder in order.
fn read_all(server: &Server, options: &Options) -> io::Result<[Vec<u8>; 2]> {
    let folder = PathBuf::from(server.url(""));
    let _mounted = mount(std::slice::from_ref(&folder), options)?;
    Ok([read(&folder.join("a.bin"))?, read(&folder.join("b.bin"))?])
}

fn is_range(request: &Request) -> bool {
    request.method == "GET" && request.range.is_some()
}

#[test]
fn a_folder_is_listed_and_its_files_are_read_at_any_offset() {
    let folder = Folder::new();
    let server = folder.serve(|_| Answer::Good);
    let url = PathBuf::from(server.url(""));
    let _mounted = mount(std::slice::from_ref(&url), &Options::default()).unwrap();
    assert_eq!(files::kind(&url).unwrap(), FileKind::Folder);
    let mut names = files::list(&url).unwrap();
    names.sort();
    assert_eq!(names, ["a.bin", "b.bin", "checksums.txt"].map(|name| url.join(name)));
    assert_eq!(files::kind(&url.join("c.bin")).unwrap(), FileKind::Absent);
    let expected = folder.bytes("a.bin");
    let file = InputFile::open(&names[0]).unwrap();
    assert_eq!(file.length().unwrap(), LENGTH as u64);
    let mut random = Random::new(1);
    for _ in 0..300 {
        let at = random.below(LENGTH as u64) as usize;
        let length = 1 + random.below(if at.is_multiple_of(7) { 6 << 20 } else { 3000 }) as usize;
        let mut found = vec![0; length];
        let count = file.read_full_at(&mut found, at as u64).unwrap();
        assert_eq!(count, length.min(LENGTH - at));
        assert_eq!(found[..count], expected[at..at + count], "{at} {length}");
    }
    assert_eq!(file.read_at(&mut [0; 8], LENGTH as u64).unwrap(), 0);
}

#[test]
fn a_file_is_read_without_a_list_of_its_folder() {
    let folder = Folder::new();
    let server = folder.serve(|_| Answer::Good);
    let url = PathBuf::from(server.url("b.bin"));
    let _mounted = mount(std::slice::from_ref(&url), &Options::default()).unwrap();
    assert_eq!(read(&url).unwrap(), folder.bytes("b.bin"));
    let next_to = PathBuf::from(server.url("none"));
    assert_eq!(files::kind(&next_to).unwrap(), FileKind::Absent);
    assert_eq!(InputFile::open(&next_to).unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_fails_for_a_time_is_tried_again() {
    let folder = Folder::new();
    let faults = [Answer::Drop, Answer::Status(500), Answer::Status(503), Answer::Cut(1000)];
    for fault in faults {
        let left = AtomicUsize::new(6);
        let server = folder.serve(move |request| {
            let fails = is_range(request)
                && left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                    .is_ok();
            if fails && request.number.is_multiple_of(2) { fault } else { Answer::Good }
        });
        let found = read_all(&server, &Options::default()).unwrap();
        assert!(found == [folder.bytes("a.bin"), folder.bytes("b.bin")], "{fault:?}");
    }
}

#[test]
fn what_fails_for_ever_is_an_error_with_its_place_and_is_never_absent() {
    let folder = Folder::new();
    for (fault, words) in [
        (Answer::Cut(1000), &["b.bin"][..]),
        (Answer::Status(403), &["b.bin", "refuses access"]),
        (Answer::Whole, &["b.bin", "does not serve ranges"]),
    ] {
        let server = folder.serve(move |request| match request.path.as_str() {
            "b.bin" if is_range(request) => fault,
            _ => Answer::Good,
        });
        let error = read_all(&server, &Options::default()).unwrap_err();
        assert_ne!(error.kind(), io::ErrorKind::NotFound, "{error}");
        words.iter().for_each(|word| assert!(error.to_string().contains(word), "{error}"));
    }
    // not even where the server is asked whether there is a file
    let server = folder.serve(|_| Answer::Status(403));
    let url = PathBuf::from(server.url("a.bin"));
    let error = mount(&[url], &Options::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error_with_both_etags() {
    for answer in [Answer::Good, Answer::Careless] {
        let folder = Folder::new();
        let path = folder.0.path().join("a.bin");
        let changed = Mutex::new(false);
        let server = folder.serve(move |request| {
            let mut changed = changed.lock().unwrap();
            if is_range(request) && request.range.as_ref().unwrap().start > 1 << 20 && !*changed {
                let mut bytes = fs::read(&path).unwrap();
                bytes[LENGTH - 1] ^= 1;
                fs::write(&path, bytes).unwrap();
                *changed = true;
            }
            answer
        });
        let error = read_all(&server, &Options::default()).unwrap_err().to_string();
        for word in ["a.bin", "changed on the server", "expected ETag", "found ETag"] {
            assert!(error.contains(word), "{error}");
        }
    }
}

#[test]
fn a_second_run_fetches_only_what_is_not_in_the_cache_folder() {
    let folder = Folder::new();
    let cache = tempfile::tempdir().unwrap();
    let options = Options { cache: Some(cache.path().to_path_buf()), ..Options::default() };
    let server = folder.serve(|_| Answer::Good);
    let url = PathBuf::from(server.url(""));
    {
        let _mounted = mount(std::slice::from_ref(&url), &options).unwrap();
        let file = InputFile::open(&url.join("a.bin")).unwrap();
        let mut half = vec![0; LENGTH / 2];
        file.reader().read_exact(&mut half).unwrap();
    }
    let before = server.bytes();
    assert!(before >= LENGTH as u64 / 2);
    let found = read_all(&server, &options).unwrap();
    assert!(found == [folder.bytes("a.bin"), folder.bytes("b.bin")]);
    let all = server.bytes();
    // what was on its way when the first half was read may not have arrived
    assert!(all - before <= 2 * LENGTH as u64 - before.min(LENGTH as u64 / 2), "{before} {all}");
    assert!(read_all(&server, &options).unwrap() == found);
    assert_eq!(server.bytes(), all, "nothing is fetched again");
    // another file of that name
    let path = folder.0.path().join("a.bin");
    let other: Vec<u8> = folder.bytes("a.bin").into_iter().rev().collect();
    fs::write(path, &other).unwrap();
    assert!(read_all(&server, &options).unwrap() == [other, folder.bytes("b.bin")]);
    assert!(server.bytes() - all >= LENGTH as u64);
}

#[test]
fn a_manifest_names_the_files_of_a_server_without_a_list() {
    let folder = Folder::new();
    fs::remove_file(folder.0.path().join("checksums.txt")).unwrap();
    let server = folder.serve(|_| Answer::Good);
    let error = read_all(&server, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("--manifest"), "{error}");
    let manifest = folder.0.path().join("names");
    fs::write(&manifest, "# both\na.bin\nb.bin\n").unwrap();
    for manifest in [manifest.clone(), PathBuf::from(server.url("names"))] {
        let options = Options { manifest: Some(manifest), ..Options::default() };
        let found = read_all(&server, &options).unwrap();
        assert!(found == [folder.bytes("a.bin"), folder.bytes("b.bin")]);
    }
    fs::write(&manifest, "a.bin\nc.bin\n").unwrap();
    let options = Options { manifest: Some(manifest), ..Options::default() };
    let error = read_all(&server, &options).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("c.bin"), "{error}");
}
