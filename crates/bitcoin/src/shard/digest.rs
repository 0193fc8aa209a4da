//! SHA-256 of the files of a shard, and of the documents about them.

use super::documents::{Coins, Headers, Hex, SourceFile};
use crate::BlockHash;
use crate::error::Error;
use blockmill_archive::blkdat::BlockFiles;
use blockmill_hashes::Sha256;
use blockmill_platform::files;
use blockmill_platform::input_file::InputFile;
use blockmill_verdict::Digits;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Size of a read, in bytes.
const READ_BYTES: usize = 1 << 20;

/// Hashes block files.
pub(super) fn of_blocks(files: &BlockFiles) -> Result<Vec<SourceFile>, Error> {
    let source = |file: &blockmill_archive::blkdat::BlockFile| {
        let path = file.path();
        of_file(path, file.open().map_err(Error::system("open", path))?)
    };
    files.files().iter().map(source).collect()
}

/// Hashes other files.
pub(super) fn of_files<'a>(
    paths: impl Iterator<Item = &'a Path>,
) -> Result<Vec<SourceFile>, Error> {
    let source = |path| of_file(path, InputFile::open(path).map_err(Error::system("open", path))?);
    paths.map(source).collect()
}

/// Hashes all files of a folder and its subfolders, in the order of their paths.
pub(super) fn of_folder(folder: &Path) -> Result<Vec<SourceFile>, Error> {
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

fn of_file(path: &Path, file: InputFile) -> Result<SourceFile, Error> {
    let mut file = file.reader();
    let (mut sha256, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; READ_BYTES]);
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
    Ok(SourceFile { path: path.to_path_buf(), bytes, sha256 })
}

/// Checks that files have not changed.
///
/// # Errors
/// Returns [`Error::FileChanged`] with the first file that differs.
pub(super) fn expect_same(before: &[SourceFile], now: &[SourceFile]) -> Result<(), Error> {
    let count = before.len().max(now.len());
    match (0..count).find(|i| before.get(*i) != now.get(*i)) {
        None => Ok(()),
        Some(i) => {
            let source = before.get(i).or(now.get(i));
            let path = source.map(|source| source.path.clone()).unwrap_or_default();
            let digest = |source: Option<&SourceFile>| {
                source.map_or("none".into(), |source| format!("SHA-256 {}", source.sha256))
            };
            let (expected, found) = (digest(before.get(i)), digest(now.get(i)));
            Err(Error::FileChanged { path, expected, found })
        }
    }
}

/// Hashes the documents of all shards: the content of files, and the positions of blocks and undo
/// data. The hash includes the block up to which scripts are assumed valid, so that no part with
/// fewer scripts matches it.
pub(super) fn of_shards(
    shards: &[Headers],
    coins: &Coins,
    assumed_valid: Option<&BlockHash>,
) -> Hex<32> {
    let mut all: Vec<_> = shards.iter().map(of_headers).collect();
    // shards may be given in any order
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
        // no undo file has this index
        let (file, at) = record.undo.map_or((u64::MAX, 0), |(file, at)| (file.into(), at));
        sha256.update(&record.header.0);
        for number in [record.file.into(), record.offset, record.size.into(), file, at.into()] {
            sha256.update(&number.to_le_bytes());
        }
    }
    sha256.finalize()
}

fn add(sha256: &mut Sha256, sources: &[SourceFile]) {
    sha256.update(&(sources.len() as u64).to_le_bytes());
    for SourceFile { bytes, sha256: digest, .. } in sources {
        sha256.update(&bytes.to_le_bytes());
        sha256.update(&(digest.len() as u64).to_le_bytes());
        sha256.update(digest.as_bytes());
    }
}
