//! Ways to corrupt a store at rest.
//!
//! Each test program uses a part of this.
#![allow(dead_code)]

use super::program::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of a page.
const PAGE: usize = 4096;

/// The files of a store and below, by their paths in it.
pub fn files(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![store.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(store).expect("a path below").to_path_buf();
            found.insert(name, fs::read(path).expect("a file"));
        }
    }
    found
}

/// What a file is for: its name without a number.
pub fn kind_of(name: &Path) -> String {
    let text = name.to_str().expect("a name in UTF-8");
    let end = text.rfind('.').filter(|at| text[at + 1..].bytes().all(|b| b.is_ascii_digit()));
    text[..end.unwrap_or(text.len())].to_string()
}

/// One way to corrupt a store.
#[derive(Debug)]
#[allow(dead_code, reason = "what it was is shown when a trial fails")]
pub enum Deed {
    Flip { file: PathBuf, byte: usize, bit: u32 },
    ZeroPage { file: PathBuf, page: usize },
    Truncate { file: PathBuf, len: usize },
    Delete { file: PathBuf },
    Exchange { files: [PathBuf; 2] },
}

impl Deed {
    /// Corrupts `store`, whose files are `whole`; `kinds` gets what was hit. `None` when the bytes
    /// are what they were.
    pub fn random(
        random: &mut Random,
        whole: &BTreeMap<PathBuf, Vec<u8>>,
        store: &Path,
        kinds: &mut BTreeSet<String>,
    ) -> Option<Deed> {
        let mut names: Vec<&PathBuf> = whole.keys().collect();
        // few files have most of the numbers
        let kind = kind_of(names[random.below(names.len() as u64) as usize]);
        let all: BTreeSet<String> = names.iter().map(|name| kind_of(name)).collect();
        let kinds_list: Vec<&String> = all.iter().collect();
        let kind = match random.below(2_u32) {
            0 => kind,
            _ => kinds_list[random.below(kinds_list.len() as u64) as usize].clone(),
        };
        names.retain(|name| kind_of(name) == kind);
        let file = names[random.below(names.len() as u64) as usize].clone();
        let bytes = &whole[&file];
        let place = |name: &Path| store.join(name);
        let len = bytes.len();
        let (mut other, way) = (bytes.clone(), random.below(8_u32));
        let deed = match way {
            0..=2 if len > 0 => {
                let (byte, bit) = (random.below(len as u64) as usize, random.below(8_u32));
                other[byte] ^= 1 << bit;
                Deed::Flip { file: file.clone(), byte, bit }
            }
            3 | 4 if len > 0 => {
                let page = random.below(len.div_ceil(PAGE) as u64) as usize;
                other[page * PAGE..len.min((page + 1) * PAGE)].fill(0);
                Deed::ZeroPage { file: file.clone(), page }
            }
            5 if len > 0 => {
                other.truncate(random.below(len as u64) as usize);
                Deed::Truncate { file: file.clone(), len: other.len() }
            }
            6 => {
                let names: Vec<&PathBuf> = whole.keys().collect();
                let second = names[random.below(names.len() as u64) as usize].clone();
                fs::write(place(&file), &whole[&second]).expect("a file to write");
                fs::write(place(&second), bytes).expect("a file to write");
                kinds.insert(kind_of(&second));
                kinds.insert(kind);
                let same = whole[&second] == *bytes;
                return (!same).then_some(Deed::Exchange { files: [file, second] });
            }
            _ => {
                fs::remove_file(place(&file)).expect("a file to remove");
                kinds.insert(kind);
                return Some(Deed::Delete { file });
            }
        };
        kinds.insert(kind);
        fs::write(place(&file), &other).expect("a file to write");
        (other != *bytes).then_some(deed)
    }
}
