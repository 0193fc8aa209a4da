//! Caches kept on disk between runs. The bytes are specified in `docs/formats/ethash-cache.md`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::Cache;
use super::epoch::EpochTooHigh;

const MAGIC: [u8; 8] = *b"BMETHASH";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 32;
/// A cache is written in seconds.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// Why a cache file was not used.
#[derive(Debug)]
pub enum CacheFileError {
    /// The system could not read it, or it ends too early.
    Io(io::Error),
    /// The file does not begin with the magic of a cache file.
    Magic {
        /// The bytes found.
        found: [u8; 8],
    },
    /// A field of the file's header has an unexpected value.
    Field {
        /// The field: `version`, `epoch`, `length` or `file size`.
        name: &'static str,
        /// The value that this epoch needs.
        expected: u64,
        /// The value found.
        found: u64,
    },
    /// The rows are not what was written.
    Checksum {
        /// CRC-32 that the file promises.
        expected: u32,
        /// CRC-32 of the rows.
        found: u32,
    },
}

impl std::fmt::Display for CacheFileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CacheFileError::Io(error) => write!(f, "cannot read the ethash cache file: {error}"),
            CacheFileError::Magic { found } => {
                let (expected, found) = (MAGIC.escape_ascii(), found.escape_ascii());
                write!(f, "ethash cache file, magic: expected {expected}, found {found}")
            }
            CacheFileError::Field { name, expected, found } => {
                write!(f, "ethash cache file, {name}: expected {expected}, found {found}")
            }
            CacheFileError::Checksum { expected, found } => {
                write!(f, "ethash cache file, CRC-32: expected {expected:08x}, found {found:08x}")
            }
        }
    }
}

impl std::error::Error for CacheFileError {}

impl From<io::Error> for CacheFileError {
    fn from(error: io::Error) -> Self {
        CacheFileError::Io(error)
    }
}

/// A cache, and where it came from.
#[derive(Debug)]
pub struct Loaded {
    /// The cache.
    pub cache: Cache,
    /// True when the cache was read from disk, false when it was generated.
    pub from_disk: bool,
    /// Why a file that was there could not be used. The cache was generated anew.
    pub corruption: Option<CacheFileError>,
    /// Why the new cache could not be written. It is good all the same.
    pub not_saved: Option<io::Error>,
}

impl Cache {
    /// Reads the cache of `epoch` from the folder `dir`, or generates it and writes it there.
    /// Without a folder it is generated. A file that cannot be used is reported in the result and
    /// is no error.
    ///
    /// # Errors
    /// When the epoch is beyond what ethash can express.
    pub fn load_or_generate(dir: Option<&Path>, epoch: u64) -> Result<Loaded, EpochTooHigh> {
        let mut cache = Cache::empty(epoch)?;
        let Some(dir) = dir else {
            cache.regenerate();
            return Ok(Loaded { cache, from_disk: false, corruption: None, not_saved: None });
        };
        Ok(load_or_fill(dir, cache))
    }
}

/// Fills `cache` from its file in `dir`, or else by generating it, and then writes the file.
fn load_or_fill(dir: &Path, mut cache: Cache) -> Loaded {
    let path = file_path(dir, cache.epoch);
    let corruption = match load(&path, &mut cache) {
        Ok(()) => return Loaded { cache, from_disk: true, corruption: None, not_saved: None },
        Err(CacheFileError::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(error),
    };
    cache.regenerate();
    let not_saved = save(dir, &path, &cache).err();
    Loaded { cache, from_disk: false, corruption, not_saved }
}

pub(super) fn file_path(dir: &Path, epoch: u64) -> PathBuf {
    dir.join(format!("ethash-{epoch:05}.cache"))
}

fn header(cache: &Cache, checksum: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&checksum.to_le_bytes());
    header[16..24].copy_from_slice(&cache.epoch.to_le_bytes());
    header[24..32].copy_from_slice(&(cache.as_bytes().len() as u64).to_le_bytes());
    header
}

/// Fills `cache` from the file.
fn load(path: &Path, cache: &mut Cache) -> Result<(), CacheFileError> {
    let mut file = File::open(path)?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let magic = std::array::from_fn(|i| header[i]);
    if magic != MAGIC {
        return Err(CacheFileError::Magic { found: magic });
    }
    let length = cache.as_bytes().len() as u64;
    for (name, expected, found) in [
        ("version", u64::from(VERSION), u64::from(word(8))),
        ("epoch", cache.epoch, number(16)),
        ("length", length, number(24)),
        ("file size", length + HEADER_BYTES as u64, file.metadata()?.len()),
    ] {
        if expected != found {
            return Err(CacheFileError::Field { name, expected, found });
        }
    }
    file.read_exact(cache.rows.as_flattened_mut())?;
    let (expected, found) = (word(12), crc32fast::hash(cache.as_bytes()));
    if expected != found {
        return Err(CacheFileError::Checksum { expected, found });
    }
    Ok(())
}

/// Writes the file under a name of its own and renames it, so that readers never see a part. There
/// is no `fsync`: the checksum finds what a power cut left, and the cache is generated again.
pub(super) fn save(dir: &Path, path: &Path, cache: &Cache) -> io::Result<()> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    fs::create_dir_all(dir)?;
    remove_abandoned(dir);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{serial}.tmp", std::process::id()));
    // a process that is stopped meanwhile takes it along
    blockmill_archive::output::will_go(&temporary);
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(&header(cache, crc32fast::hash(cache.as_bytes())))?;
        file.write_all(cache.as_bytes())
    });
    let renamed = written.and_then(|()| fs::rename(&temporary, path));
    if renamed.is_err() {
        // what is left of it would only take space
        let _ = fs::remove_file(&temporary);
    }
    renamed
}

/// Removes what killed processes left: temporary files that nobody has written to for long. What
/// cannot be removed only takes space.
fn remove_abandoned(dir: &Path) {
    for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let temporary = name.starts_with(b"ethash-") && name.ends_with(b".tmp");
        let modified = || fs::metadata(&path).and_then(|found| found.modified()).ok();
        let age = |time: SystemTime| time.elapsed().is_ok_and(|age| age > ABANDONED);
        if temporary && modified().is_some_and(age) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A folder of its own for each test, removed at the end.
    pub(in super::super) struct Folder(pub(in super::super) PathBuf);

    impl Folder {
        pub(in super::super) fn new(name: &str) -> Self {
            let path = std::env::temp_dir()
                .join(format!("blockmill-ethash-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn empty_like(cache: &Cache) -> Cache {
        Cache { rows: blockmill_hashes::Rows::zeroed(cache.rows.len()), ..*cache }
    }

    #[test]
    fn a_saved_cache_loads_again() {
        let folder = Folder::new("again");
        let path = file_path(&folder.0, 7);
        let cache = Cache::small(7, 509, 8191);
        save(&folder.0, &path, &cache).unwrap();
        let mut loaded = empty_like(&cache);
        load(&path, &mut loaded).unwrap();
        assert_eq!(loaded.as_bytes(), cache.as_bytes());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = Folder::new("abandoned");
        let old = SystemTime::now() - 2 * ABANDONED;
        let names = ["ethash-00003.77-0.tmp", "ethash-00003.cache", "mine.tmp", "ethash-.77-1.tmp"];
        for name in names {
            let file = File::create(folder.0.join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        // perhaps a process that writes just now
        File::create(folder.0.join("ethash-00004.78-0.tmp")).unwrap();
        save(&folder.0, &file_path(&folder.0, 7), &Cache::small(7, 5, 8191)).unwrap();
        let entries = fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        let expected =
            ["ethash-00003.cache", "ethash-00004.78-0.tmp", "ethash-00007.cache", "mine.tmp"];
        assert_eq!(left, expected);
    }

    #[test]
    fn a_damaged_or_short_file_is_refused() {
        let folder = Folder::new("corruption");
        let path = file_path(&folder.0, 7);
        let cache = Cache::small(7, 5, 8191);
        save(&folder.0, &path, &cache).unwrap();
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            assert!(load(&path, &mut empty_like(&cache)).is_err(), "flipped bit in byte {at}");
        }
        for length in (0..good.len()).step_by(13).chain([good.len() - 1]) {
            fs::write(&path, &good[..length]).unwrap();
            assert!(load(&path, &mut empty_like(&cache)).is_err(), "cut to {length} bytes");
        }
        fs::write(&path, [&good[..], b"x"].concat()).unwrap();
        assert!(matches!(
            load(&path, &mut empty_like(&cache)),
            Err(CacheFileError::Field { name: "file size", .. })
        ));
    }

    #[test]
    fn a_damaged_file_is_reported_and_replaced() {
        let folder = Folder::new("replaced");
        let cache = Cache::small(7, 61, 8191);
        let path = file_path(&folder.0, 7);
        let missing = load_or_fill(&folder.0, empty_like(&cache));
        assert!(!missing.from_disk && missing.corruption.is_none() && missing.not_saved.is_none());

        let mut bytes = fs::read(&path).unwrap();
        bytes[100] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let damaged = load_or_fill(&folder.0, empty_like(&cache));
        assert!(!damaged.from_disk);
        assert!(matches!(damaged.corruption, Some(CacheFileError::Checksum { .. })));
        assert_eq!(damaged.cache.as_bytes(), cache.as_bytes());

        let repaired = load_or_fill(&folder.0, empty_like(&cache));
        assert!(repaired.from_disk);
        assert_eq!(repaired.cache.as_bytes(), cache.as_bytes());
    }

    #[test]
    fn a_folder_that_cannot_be_written_stops_nothing() {
        let folder = Folder::new("unwritable");
        let file = folder.0.join("a file, not a folder");
        fs::write(&file, b"").unwrap();
        let cache = Cache::small(7, 61, 8191);
        let loaded = load_or_fill(&file, empty_like(&cache));
        assert!(loaded.not_saved.is_some());
        assert_eq!(loaded.cache.as_bytes(), cache.as_bytes());
    }
}
