//! Files cut off and bits flipped at random places.

use crate::blocks::{Blocks, FORMATS};
use crate::program::{Random, fault_text, run, succeed, tip_of};
use crate::{Good, import};
use std::fs;
use std::path::{Path, PathBuf};

/// Number of the last block. Blocks have transactions from 1,772 on, where the gas limit has grown
/// enough.
const LAST: u64 = 2_000;

/// Corrupt copies of each format, for cuts and for flips.
const COPIES: u32 = 20;

/// The files of an archive.
fn files(archive: &Path) -> Vec<PathBuf> {
    if archive.is_file() {
        return vec![archive.to_path_buf()];
    }
    let mut files = vec![];
    for entry in fs::read_dir(archive).unwrap() {
        files.extend(self::files(&entry.unwrap().path()));
    }
    files.sort();
    files
}

/// Bytes in all of `files`.
fn bytes_in(files: &[PathBuf]) -> u64 {
    files.iter().map(|file| fs::metadata(file).unwrap().len()).sum()
}

/// The file that holds byte `at` of `files`, one after the other, and where.
fn place_in(files: &[PathBuf], mut at: u64) -> (PathBuf, u64) {
    for file in files {
        let length = fs::metadata(file).unwrap().len();
        if at < length {
            return (file.clone(), at);
        }
        at -= length;
    }
    panic!("no byte {at} more");
}

/// Where each block ends in a plain stream.
fn ends(blocks: &Blocks, format: &str) -> Vec<u64> {
    let lengths = (0..blocks.headers.len()).map(|i| {
        let (header, body) = (blocks.headers[i].len(), blocks.bodies[i].len());
        if format == "headers" {
            return header;
        }
        // a body is a list of the items that follow the header in an exported block
        let prefix = body - super::blocks::items(&blocks.bodies[i]).concat().len();
        blockmill_rlp::list_len(header + body - prefix)
    });
    lengths
        .scan(0, |end, length| {
            *end += length as u64;
            Some(*end)
        })
        .collect()
}

/// What became of corrupt copies of one format.
#[derive(Debug, Default)]
struct Verdicts {
    refused: u32,
    /// The corruption does not change the content.
    harmless: u32,
}

impl Good {
    /// Imports a corrupt copy: it is refused, and what is stored is the beginning of the good
    /// chain; or it is accepted because its content is the good one.
    fn judge(&mut self, corrupt: &Path, verdicts: &mut Verdicts) -> Option<u64> {
        let store = self.next_copy();
        let mut command = import(&store, &self.chain, corrupt);
        let ended = run(&mut command);
        if ended.code == Some(0) {
            self.snapshot.assert_same(&store);
            verdicts.harmless += 1;
            return Some(LAST);
        }
        let text = fault_text(&ended, &format!("{command:?}"));
        assert!(text.contains(&corrupt.display().to_string()), "no file in {text}");
        assert!(text.contains("byte ") || text.contains("block "), "no place in {text}");
        verdicts.refused += 1;
        self.snapshot.assert_begins_like(&store);
        let tip = tip_of(&store);
        succeed(&mut import(&store, &self.chain, &self.archive));
        self.snapshot.assert_same(&store);
        fs::remove_dir_all(&store).unwrap();
        tip
    }

    /// Writes a copy of the archive with one file changed, and gives its path.
    fn changed_copy(&mut self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
        let corrupt = self.next_copy();
        crate::program::copy(&self.archive, &corrupt);
        let path = match file.strip_prefix(&self.archive) {
            Ok(inside) if inside != Path::new("") => corrupt.join(inside),
            _ => corrupt.clone(),
        };
        let mut bytes = fs::read(file).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
        corrupt
    }
}

#[test]
fn files_that_are_cut_off_are_refused() {
    let blocks = Blocks::generated(LAST);
    let mut random = Random::new_each_run("files_that_are_cut_off");
    for format in FORMATS {
        let mut good = Good::new("cut", format, blocks.clone());
        let ends = ends(&blocks, format);
        let files = files(&good.archive);
        let mut verdicts = Verdicts::default();
        for _ in 0..COPIES {
            let (file, at) = place_in(&files, random.below(bytes_in(&files)));
            let plain = matches!(format, "headers" | "rlp");
            if plain && ends.contains(&at) {
                continue; // a whole, shorter archive
            }
            println!("{format}: {} cut at {at}", file.display());
            let corrupt = good.changed_copy(&file, |bytes| bytes.truncate(at as usize));
            let tip = good.judge(&corrupt, &mut verdicts);
            if plain {
                let whole = ends.iter().filter(|end| **end <= at).count() as u64;
                assert_eq!(tip, whole.checked_sub(1), "cut at {at}");
            }
        }
        println!("{format}: {verdicts:?}");
        assert!(verdicts.refused > verdicts.harmless, "{verdicts:?}");
    }
}

#[test]
fn flipped_bits_are_found_or_change_nothing() {
    let blocks = Blocks::generated(LAST);
    let mut random = Random::new_each_run("flipped_bits");
    for format in FORMATS {
        let mut good = Good::new("flip", format, blocks.clone());
        let ends = ends(&blocks, format);
        let files = files(&good.archive);
        let mut verdicts = Verdicts::default();
        for _ in 0..COPIES {
            let length = match format {
                // without seals nothing vouches for the last block of a stream
                "headers" | "rlp" => ends[LAST as usize - 1],
                _ => bytes_in(&files),
            };
            let (file, at) = place_in(&files, random.below(length));
            let bit = random.below(8);
            println!("{format}: {} bit {bit} at {at}", file.display());
            let corrupt = good.changed_copy(&file, |bytes| bytes[at as usize] ^= 1 << bit);
            good.judge(&corrupt, &mut verdicts);
        }
        println!("{format}: {verdicts:?}");
        assert!(verdicts.refused > verdicts.harmless, "{verdicts:?}");
    }
}
