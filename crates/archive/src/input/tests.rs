//! Every compression: whole, cut, corrupt, too large; and files that only resemble one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::pack::{ALL, pack, zip};
use super::{Compression, CompressionFault, Input, Seekable};
use crate::Error;
use crate::sample::noise;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join("file");
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// The unpacked bytes of a file, and the error after them.
fn unpack(path: &Path) -> (Vec<u8>, Option<Error>) {
    Input::open(path).unwrap().head(1 << 20)
}

#[test]
fn every_compression_is_known_by_its_content_and_unpacks() {
    let folder = Folder::new();
    for compression in ALL {
        for length in [0, 1, 100, 300_000] {
            let bytes = [noise(1, length), vec![7; length]].concat();
            let path = folder.file(&pack(compression, &bytes));
            assert_eq!(Input::open(&path).unwrap().compression(), Some(compression));
            let (found, fault) = unpack(&path);
            assert!(fault.is_none() && found == bytes, "{compression} of {length}: {fault:?}");
        }
    }
}

#[test]
fn several_members_in_a_row_count_as_one() {
    let folder = Folder::new();
    for compression in ALL.into_iter().filter(|it| *it != Compression::Zip) {
        let packed = [pack(compression, b"one, "), pack(compression, b"two")].concat();
        let (found, fault) = unpack(&folder.file(&packed));
        assert!(fault.is_none() && found == b"one, two", "{compression}: {fault:?}");
    }
}

#[test]
fn data_cut_anywhere_is_an_error_that_says_so_and_how_far_it_unpacked() {
    let folder = Folder::new();
    let bytes = noise(2, 3000);
    for compression in ALL {
        let packed = pack(compression, &bytes);
        // after the magic: a shorter file is not compressed
        for length in (6..packed.len()).step_by(7).chain(packed.len() - 12..packed.len()) {
            let (found, fault) = unpack(&folder.file(&packed[..length]));
            let Some(Error::Compressed { location, fault: CompressionFault::Cut, .. }) = &fault
            else {
                panic!("{compression} cut to {length} of {}: {fault:?}", packed.len());
            };
            assert!(bytes.starts_with(&found), "{compression} cut to {length}");
            assert_eq!((location.offset, location.unpacked), (found.len() as u64, true));
            assert_eq!(
                fault.as_ref().map(Error::status),
                Some(blockmill_verdict::Status::Incomplete)
            );
        }
    }
}

#[test]
fn a_flipped_bit_never_gives_other_content_without_an_error() {
    let folder = Folder::new();
    let bytes = [noise(3, 40), vec![5; 400]].concat();
    for compression in ALL {
        let packed = pack(compression, &bytes);
        for bit in 6 * 8..packed.len() * 8 {
            let mut bad = packed.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let (found, fault) = Input::open(&folder.file(&bad)).unwrap().head(200 << 10);
            assert!(found == bytes || fault.is_some(), "{compression}: bit {bit}");
        }
    }
}

#[test]
fn bytes_behind_the_end_are_not_passed_over() {
    let folder = Folder::new();
    for compression in ALL {
        let packed = [pack(compression, b"content"), noise(4, 50)].concat();
        let (found, fault) = unpack(&folder.file(&packed));
        assert!(found.len() <= 7 && fault.is_some(), "{compression}: {fault:?}");
    }
}

#[test]
fn windows_that_take_too_much_memory_are_refused_with_what_to_do() {
    let folder = Folder::new();
    let mut zstd = zstd::stream::write::Encoder::new(vec![], 1).unwrap();
    zstd.window_log(28).unwrap();
    zstd.write_all(&noise(5, 1000)).unwrap();
    let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
    options.dict_size(512 << 20);
    let mut filters = liblzma::stream::Filters::new();
    filters.lzma2(&options);
    // the memory limit of the encoder is another one
    let check = liblzma::stream::Check::Crc64;
    let stream = liblzma::stream::Stream::new_stream_encoder(&filters, check).unwrap();
    let mut xz = liblzma::write::XzEncoder::new_stream(vec![], stream);
    xz.write_all(&noise(5, 1000)).unwrap();
    for packed in [zstd.finish().unwrap(), xz.finish().unwrap()] {
        let (found, fault) = unpack(&folder.file(&packed));
        let fault = fault.expect("an error");
        assert!(found.is_empty());
        assert!(fault.to_string().contains("more than 128 MiB"), "{fault}");
        assert_eq!(fault.status(), blockmill_verdict::Status::Usage);
    }
}

#[test]
fn what_only_begins_like_compressed_data_is_read_as_it_is() {
    let folder = Folder::new();
    let heads: [&[u8]; 6] =
        [b"", b"\x1f\x8b", b"\x1f\x8b\x07\x00ab", b"BZh", b"BZh9xyzabc", b"\xfd7zXX\0"];
    for head in heads {
        let (found, fault) = unpack(&folder.file(head));
        assert!(fault.is_none() && found == head, "{head:02x?}");
    }
}

#[test]
fn a_bomb_unpacks_no_further_than_it_is_read() {
    let folder = Folder::new();
    let mut encoder = zstd::stream::write::Encoder::new(vec![], 1).unwrap();
    for _ in 0..(8 << 10) {
        encoder.write_all(&[0; 1 << 20]).unwrap();
    }
    let path = folder.file(&encoder.finish().unwrap());
    let start = Instant::now();
    let (found, fault) = unpack(&path);
    assert!(fault.is_none() && found.len() == 1 << 20);
    assert!(crate::blkdat::open(std::slice::from_ref(&path), None).is_err());
    assert!(crate::Archive::open(&[path]).is_err());
    assert!(start.elapsed() < Duration::from_secs(5), "8 GiB were unpacked");
}

#[test]
fn an_unpacked_file_has_no_name_and_is_found_again_until_the_original_changes() {
    let folder = Folder::new();
    let path = folder.file(&pack(Compression::Gzip, b"first content"));
    let first = Seekable::open(&path).unwrap();
    assert!(first.copied && first.compression == Some(Compression::Gzip));
    let place = |it: &Seekable| std::ptr::from_ref(it.file().local().unwrap());
    let same = |a: &Seekable, b: &Seekable| place(a) == place(b);
    assert!(same(&first, &Seekable::open(&path).unwrap()));
    folder.file(&pack(Compression::Gzip, b"another content"));
    let second = Seekable::open(&path).unwrap();
    assert!(!same(&first, &second));
    assert_eq!(second.file().length().unwrap(), 15);
}

/// The status and the text of the error of a packed file.
fn refusal(packed: &[u8]) -> (blockmill_verdict::Status, String) {
    let (found, fault) = unpack(&Folder::new().file(packed));
    let fault = fault.expect("an error");
    assert!(found.is_empty(), "{fault}");
    (fault.status(), fault.to_string())
}

#[test]
fn a_zip_file_is_read_stored_large_streamed_with_a_comment_and_next_to_texts() {
    let folder = Folder::new();
    let options = SimpleFileOptions::default();
    let stored = options.compression_method(CompressionMethod::Stored);
    let bytes = [noise(6, 5000), vec![1; 5000]].concat();
    let mut streamed = ZipWriter::new_stream(vec![]);
    streamed.start_file("chain.0.acc", options).unwrap();
    streamed.write_all(&bytes).unwrap();
    let mut noted = ZipWriter::new(std::io::Cursor::new(vec![]));
    noted.add_directory("blocks", options).unwrap();
    noted.start_file("blocks/README.txt", stored).unwrap();
    noted.write_all(b"text").unwrap();
    noted.start_file("blocks/blk00000.dat", options).unwrap();
    noted.write_all(&bytes).unwrap();
    noted.set_comment("made by hand, PK\x05\x06 and all").unwrap();
    for packed in [
        zip(&[("a", &bytes)], stored),
        zip(&[("a", &bytes)], options.large_file(true)),
        zip(&[("a", &bytes)], stored.large_file(true)),
        streamed.finish().unwrap().into_inner(),
        noted.finish().unwrap().into_inner(),
    ] {
        let (found, fault) = unpack(&folder.file(&packed));
        assert!(fault.is_none() && found == bytes, "{fault:?}");
    }
}

#[test]
fn zip_files_with_several_files_none_or_an_encrypted_one_are_refused_with_what_to_do() {
    let options = SimpleFileOptions::default();
    let two: [(&str, &[u8]); 2] = [("blk00000.dat", b"a"), ("blk00001.dat", b"b")];
    let mut encrypted = zip(&two[..1], options);
    let directory = memchr::memmem::find(&encrypted, b"PK\x01\x02").unwrap();
    encrypted[6] |= 1;
    encrypted[directory + 8] |= 1;
    let mut method = zip(&two[..1], options);
    method[8] = 14;
    method[directory + 10] = 14;
    for (packed, words) in [
        (zip(&two, options), "2 files in it (blk00000.dat, blk00001.dat): unpack it"),
        (zip(&[("blocks/", b"")], options), "no archive in it"),
        (encrypted, "an encrypted file: unpack it"),
        (method, "another method"),
    ] {
        let (status, text) = refusal(&packed);
        assert!(text.contains(words), "{text}");
        assert_eq!(status, blockmill_verdict::Status::Usage, "{text}");
    }
}

#[test]
fn a_zip_file_with_wrong_sizes_checksum_or_surroundings_is_corrupt() {
    let folder = Folder::new();
    let bytes = noise(7, 300);
    let good = pack(Compression::Zip, &bytes);
    let directory = memchr::memmem::find(&good, b"PK\x01\x02").unwrap();
    let change = |at: usize| {
        let mut bad = good.clone();
        bad[directory + at] ^= 1;
        bad
    };
    // checksum, packed and unpacked size, and a zip file after another one
    for packed in [change(16), change(20), change(24), [&good[..], &good].concat()] {
        let fault = unpack(&folder.file(&packed)).1.expect("an error");
        assert_eq!(fault.status(), blockmill_verdict::Status::Corrupt, "{fault}");
    }
}
