//! The bytes of a shard's files, and what it tells of them, as hashes.

use super::documents::{Coins, Headers, Hex, Source};
use crate::BlockHash;
use crate::fault::Error;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_hashes::Sha256;
use blockmill_platform::files;
use blockmill_verdict::Digits;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes that are hashed at once.
const STEP: usize = 1 << 20;

/// The files of blocks.
pub(super) fn of_blocks(files: &BlockFiles) -> Result<Vec<Source>, Error> {
    let source = |file: &blockmill_archive::blkdat::BlockFile| {
        let path = file.path();
        of(path, file.open().map_err(Error::system("open", path))?)
    };
    files.files().iter().map(source).collect()
}

/// Other files.
pub(super) fn of_files<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<Vec<Source>, Error> {
    let source = |path| of(path, File::open(path).map_err(Error::system("open", path))?);
    paths.map(source).collect()
}

/// All files of a folder and of those in it, in the order of their paths.
pub(super) fn of_folder(folder: &Path) -> Result<Vec<Source>, Error> {
    let (mut folders, mut found): (_, Vec<PathBuf>) = (vec![folder.to_path_buf()], vec![]);
    while let Some(folder) = folders.pop() {
        for path in files::list(&folder).map_err(Error::system("list", &folder))? {
            let is_folder = files::is_folder(&path).map_err(Error::system("open", &path))?;
            if is_folder { &mut folders } else { &mut found }.push(path);
        }
    }
    found.sort();
    of_files(found.iter().map(PathBuf::as_path))
}

fn of(path: &Path, mut file: File) -> Result<Source, Error> {
    let (mut sha256, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; STEP]);
    loop {
        match file.read(&mut buffer).map_err(Error::system("read", path))? {
            0 => break,
            read => {
                bytes += read as u64;
                sha256.update(&buffer[..read]);
            }
        }
    }
    let sha256 = Digits(&sha256.finalize()).to_string();
    Ok(Source { path: path.to_path_buf(), bytes, sha256 })
}

/// Refuses files that are not what they were.
pub(super) fn expect_same(told: &[Source], now: &[Source]) -> Result<(), Error> {
    let count = told.len().max(now.len());
    match (0..count).find(|i| told.get(*i) != now.get(*i)) {
        None => Ok(()),
        Some(i) => {
            let source = told.get(i).or(now.get(i));
            let path = source.map(|source| source.path.clone()).unwrap_or_default();
            let sum = |source: Option<&Source>| {
                source.map_or("none".into(), |source| format!("SHA-256 {}", source.sha256))
            };
            Err(Error::FileChanged { path, expected: sum(told.get(i)), found: sum(now.get(i)) })
        }
    }
}

/// What all shards of a merge tell of their files: the bytes, and where blocks and undo data stand;
/// and the block whose scripts are assumed valid, so that no part of fewer scripts fits.
pub(super) fn of_shards(
    shards: &[Headers],
    coins: &Coins,
    assumed_valid: Option<&BlockHash>,
) -> Hex<32> {
    let mut all: Vec<_> = shards.iter().map(of_headers).collect();
    // shards come in any order
    all.sort_unstable();
    let mut sha256 = Sha256::new();
    all.iter().for_each(|shard| sha256.update(shard));
    add(&mut sha256, &coins.sources);
    assumed_valid.iter().for_each(|block| sha256.update(&block.0));
    Hex(sha256.finalize())
}

fn of_headers(shard: &Headers) -> [u8; 32] {
    let mut sha256 = Sha256::new();
    add(&mut sha256, &shard.sources);
    add(&mut sha256, &shard.undo);
    for record in &shard.records {
        // what is not there is told from every place that may be
        let (file, at) = record.undo.map_or((u64::MAX, 0), |(file, at)| (file.into(), at));
        sha256.update(&record.header.0);
        for number in [record.file.into(), record.offset, record.size.into(), file, at.into()] {
            sha256.update(&number.to_le_bytes());
        }
    }
    sha256.finalize()
}

fn add(sha256: &mut Sha256, sources: &[Source]) {
    sha256.update(&(sources.len() as u64).to_le_bytes());
    for Source { bytes, sha256: sum, .. } in sources {
        sha256.update(&bytes.to_le_bytes());
        sha256.update(&(sum.len() as u64).to_le_bytes());
        sha256.update(sum.as_bytes());
    }
}
