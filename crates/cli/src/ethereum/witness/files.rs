//! The files of witnesses: what is read of one, and which files of a folder belong together.

use anyhow::{Context, Result};
use blockmill_platform::files::{self, FileKind};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Most bytes of a file, unpacked: some ten times those of the largest blocks.
const MOST_BYTES: usize = 512 << 20;
/// Bytes of a compressed file that may be unpacked, whatever it has, ...
const UNPACKED: usize = 64 << 20;
/// ... and for each of its bytes: hexadecimal digits of hashes give less than 3.
const UNPACKED_FOR_A_BYTE: usize = 32;

/// Endings of the files of a folder that are read, before the ending of a compression.
const ENDINGS: [&str; 4] = ["json", "rlp", "hex", "bin"];
/// Endings of compressed files.
const COMPRESSED: [&str; 4] = ["zst", "gz", "xz", "bz2"];

/// The error for a witness without its block.
pub const NO_BLOCK: &str = "a witness without its block. Name the file of the block, too: its \
                            RLP, its JSON, or the answer of debug_getRawBlock";

/// The bytes of a file. What is compressed may not be unpacked to more than files of this kind are:
/// some kilobytes could give gigabytes.
///
/// # Errors
/// If the file cannot be read or unpacked.
pub fn read(file: &Path) -> Result<Vec<u8>> {
    // a pipe has no length
    let length = fs::metadata(file).map_or(0, |found| found.len());
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let most = length.saturating_mul(UNPACKED_FOR_A_BYTE).saturating_add(UNPACKED);
    Ok(blockmill_archive::read_whole(file, most.min(MOST_BYTES))?)
}

/// Whether one of these paths is a folder.
pub fn has_folder(paths: &[PathBuf]) -> Result<bool> {
    for path in paths {
        let kind = files::kind(path).with_context(|| format!("cannot read {}", path.display()))?;
        if kind == FileKind::Folder {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A file, and the file of its block if it has a name next to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Job {
    /// A witness, or a block with its witness.
    pub file: PathBuf,
    /// The block of a witness alone.
    pub block: Option<PathBuf>,
}

/// The files at and below these paths, in the order of the paths and of their names. A file named
/// `...witness...` and one named `...block...` in its place are one job.
///
/// # Errors
/// If a path or a folder cannot be read.
pub fn jobs(paths: &[PathBuf]) -> Result<Vec<Job>> {
    let mut all = vec![];
    for path in paths {
        let kind = files::kind(path).with_context(|| format!("cannot read {}", path.display()))?;
        match kind {
            FileKind::Folder => all.extend(pairs(below(path)?)),
            _ => all.push(Job { file: path.clone(), block: None }),
        }
    }
    Ok(all)
}

/// The files below a folder. Links to folders are not followed, since they may lead back to it.
fn below(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let (mut found, mut open) = (BTreeSet::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        let cannot = || format!("cannot read {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            let (path, kind) = (entry.path(), entry.file_type().with_context(cannot)?);
            match FileKind::of(kind) {
                FileKind::Folder => open.push(path),
                _ if is_read(&path) => {
                    found.insert(path);
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Whether the ending of a file's name is one that witnesses have.
fn is_read(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let name = COMPRESSED.iter().fold(name, |name, ending| {
        name.strip_suffix(ending).and_then(|name| name.strip_suffix('.')).unwrap_or(name)
    });
    name.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Files, with those of blocks next to their witnesses.
fn pairs(files: BTreeSet<PathBuf>) -> Vec<Job> {
    let block_of = |file: &PathBuf| {
        let name = file.file_name()?.to_str()?;
        let (before, after) = name.rsplit_once("witness")?;
        let block = file.with_file_name(format!("{before}block{after}"));
        files.contains(&block).then_some(block)
    };
    let blocks: BTreeSet<PathBuf> = files.iter().filter_map(block_of).collect();
    let jobs = files.iter().filter(|file| !blocks.contains(*file));
    jobs.map(|file| Job { file: file.clone(), block: block_of(file) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder_are_chosen_and_paired_by_their_names() {
        let names = ["a.json", "b_block.rlp", "b_witness.rlp", "witness.json.zst", "x-block.json"];
        let jobs = pairs(names.iter().map(PathBuf::from).collect());
        let job = |file: &str, block: Option<&str>| Job {
            file: file.into(),
            block: block.map(PathBuf::from),
        };
        let expected = [
            job("a.json", None),
            job("b_witness.rlp", Some("b_block.rlp")),
            job("witness.json.zst", None),
            job("x-block.json", None),
        ];
        assert_eq!(jobs, expected);
        for (name, read) in [
            ("a.json", true),
            ("a.json.zst", true),
            ("a.rlp.gz", true),
            ("README.md", false),
            ("json", false),
            ("a.zst", false),
        ] {
            assert_eq!(is_read(Path::new(name)), read, "{name}");
        }
    }
}
