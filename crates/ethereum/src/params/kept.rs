//! The genesis.json of a chain that is not built in, as a store keeps it: `docs/formats/store.md`.

use super::config::{Config, SWITCHES};
use super::genesis::known;
use crate::params::SpecError;
use blockmill_hashes::Sha256;
use blockmill_platform::files;
use blockmill_platform::input_file::InputFile;
use blockmill_verdict::{Hex, Status};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The genesis.json, byte for byte.
const FILE: &str = "chain.json";
/// Its SHA-256, as `sha256sum` writes it.
const SUM: &str = "chain.json.sha256";
/// Names of both.
pub const KEPT_FILES: [&str; 2] = [FILE, SUM];
/// Bytes that are read at a time.
const READ: usize = 1 << 16;

/// The kept genesis.json of a store is damaged, or does not allow what was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeptError {
    /// It cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is not what was written.
    #[error("{}: expected a file with SHA-256 {expected}, found {found}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The checksum in the file next to it.
        expected: String,
        /// The checksum of its bytes.
        found: String,
    },
    /// It is no genesis.json that can be used.
    #[error("{}: {error}", path.display())]
    Spec {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: SpecError,
    },
    /// Another genesis.json differs in what the stored blocks depend on.
    #[error("{name}: expected {expected}, as the store keeps it, found {found}")]
    Other {
        /// The setting.
        name: String,
        /// What the store keeps.
        expected: String,
        /// What the other file has.
        found: String,
    },
}

impl KeptError {
    /// The kind of end that this error is.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Io { error, .. } => Status::of_io(error),
            Self::Corrupt { .. } => Status::Corrupt,
            Self::Spec { .. } | Self::Other { .. } => Status::Usage,
        }
    }
}

/// The genesis.json that the store in `folder` keeps; `None` if it keeps none, as for a built-in
/// network.
///
/// # Errors
/// [`KeptError::Corrupt`] if its checksum does not match, [`KeptError::Io`] if it cannot be read.
pub fn kept_in(folder: &Path) -> Result<Option<PathBuf>, KeptError> {
    let (path, sum) = (folder.join(FILE), folder.join(SUM));
    let expected = files::if_there(&sum, fs::read(&sum));
    let Some(expected) = expected.map_err(|error| KeptError::Io { path: sum, error })? else {
        // without a sum it was not written to its end
        return Ok(None);
    };
    let found = match files::if_there(&path, sum_of(&path)) {
        Ok(found) => found.unwrap_or_else(|| "no file".into()),
        Err(error) => return Err(KeptError::Io { path, error }),
    };
    if expected == line(&found) {
        return Ok(Some(path));
    }
    let expected = String::from_utf8_lossy(&expected);
    let expected = expected.split_whitespace().next().unwrap_or_default().to_owned();
    Err(KeptError::Corrupt { path, expected, found })
}

/// The kept genesis.json whose sum is gone, which [`kept_in`] takes for one that was not written to
/// its end.
///
/// # Errors
/// [`KeptError::Io`].
pub fn kept_without_sum(folder: &Path) -> Result<Option<PathBuf>, KeptError> {
    let (path, sum) = (folder.join(FILE), folder.join(SUM));
    let is_there = |path: &Path| {
        files::is_there(path).map_err(|error| KeptError::Io { path: path.into(), error })
    };
    Ok((is_there(&path)? && !is_there(&sum)?).then_some(path))
}

/// Keeps a copy of the genesis.json `from` in the store in `folder`. Durable when it returns; a
/// kill on the way leaves no copy, or the one of before.
///
/// # Errors
/// [`KeptError::Io`].
pub fn keep_in(folder: &Path, from: &Path) -> Result<(), KeptError> {
    let (path, sum) = (folder.join(FILE), folder.join(SUM));
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| KeptError::Io { path, error }
    };
    let found = sum_of(from).map_err(failed(from))?;
    if matches!(kept_in(folder), Ok(Some(_)))
        && fs::read(&sum).is_ok_and(|there| there == line(&found))
    {
        return Ok(());
    }
    match fs::remove_file(&sum) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&sum)(error)),
        _ => {}
    }
    let input = InputFile::open(from).map_err(failed(from))?;
    write(&path, &mut input.reader()).map_err(failed(&path))?;
    write(&sum, &mut &line(&found)[..]).map_err(failed(&sum))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))
}

/// Writes a file under another name, and renames it when it is on the disk.
fn write(path: &Path, input: &mut impl Read) -> io::Result<()> {
    let temporary = path.with_extension("new");
    files::expect_no_link(&temporary)?;
    let mut file = File::create(&temporary)?;
    io::copy(input, &mut file)?;
    file.flush()?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

/// The line of a sum.
fn line(sum: &str) -> Vec<u8> {
    format!("{sum}  {FILE}\n").into_bytes()
}

/// The digits of a file's SHA-256.
fn sum_of(path: &Path) -> io::Result<String> {
    let (input, mut sum) = (InputFile::open(path)?, Sha256::new());
    let mut file = input.reader();
    let mut bytes = vec![0; READ];
    loop {
        match file.read(&mut bytes) {
            Ok(0) => {
                return Ok(Hex(&sum.finalize()).to_string().trim_start_matches("0x").to_owned());
            }
            Ok(read) => sum.update(&bytes[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// How far a store has come: what begins later may still be set in another way.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// Number of the last block.
    pub number: u64,
    /// Its time, in seconds.
    pub time: u64,
}

/// Compares another genesis.json of the same first block with the one that a store keeps: only
/// forks that begin after the last block may differ.
///
/// # Errors
/// [`KeptError::Other`] names the first difference; [`KeptError::Spec`] if one is no genesis.json.
pub fn expect_same_rules(kept: &Path, other: &Path, reached: Reached) -> Result<(), KeptError> {
    let read = |path: &Path| {
        let failed = |error| KeptError::Spec { path: path.into(), error };
        let io = |error| KeptError::Io { path: path.into(), error };
        known::config_of(path).map_err(io)?.map_err(failed)
    };
    let (kept, other) = (read(kept)?, read(other)?);
    for ((name, expected), (_, found)) in
        kept.held_at(reached).into_iter().zip(other.held_at(reached))
    {
        if expected != found {
            return Err(KeptError::Other { name, expected, found });
        }
    }
    Ok(())
}

/// What a fork or a setting is that no block up to the last one depends on.
const LATER: &str = "none so far";

impl Reached {
    /// Has a switch of this name that is set to `at` begun?
    fn has(self, key: &str, at: u64) -> bool {
        match key.ends_with("Time") {
            true => at <= self.time,
            false => at <= self.number,
        }
    }
}

impl Config {
    /// The settings by name, as far as blocks up to `reached` depend on them.
    fn held_at(&self, reached: Reached) -> Vec<(String, String)> {
        // no `..` here: a new setting is compared, or it does not compile
        let Self {
            chain_id,
            dao_fork_support,
            terminal_total_difficulty,
            merge_block,
            bomb_delays,
            deposit_contract,
            code_size,
            consensus,
            at,
            blobs,
        } = self;
        let mut all = vec![];
        let mut add = |name: &str, value: Option<String>| {
            all.push((name.to_owned(), value.unwrap_or_else(|| LATER.into())));
        };
        add("chainId", Some(chain_id.to_string()));
        for ((switch, at), blobs) in SWITCHES.iter().zip(at).zip(blobs) {
            let at = at.filter(|at| reached.has(switch.key, *at));
            add(switch.key, at.map(|at| at.to_string()));
            let blobs = blobs.filter(|_| at.is_some()).map(|blobs| format!("{blobs:?}"));
            add(&format!("blobSchedule of {}", switch.key), blobs);
        }
        let is_begun = |key| self.get(key).is_some_and(|at| reached.has(key, at));
        let dao = is_begun("daoForkBlock").then(|| dao_fork_support.to_string());
        add("daoForkSupport", dao);
        let deposits = is_begun("pragueTime").then(|| Hex(deposit_contract).to_string());
        add("depositContractAddress", deposits);
        add("consensus", Some(format!("{consensus:?}")));
        add("limit of code", Some(code_size.up_to(reached.number, reached.time).to_string()));
        add("terminalTotalDifficulty", terminal_total_difficulty.map(|total| total.to_string()));
        let merged = merge_block.filter(|block| *block <= reached.number);
        add("first block under proof of stake", merged.map(|block| block.to_string()));
        let delays = bomb_delays.as_ref().map(|delays| {
            let begun = delays.iter().filter(|(block, _)| *block <= reached.number);
            format!("{:?}", begun.collect::<Vec<_>>())
        });
        add("difficultyBombDelays", Some(delays.unwrap_or_else(|| "those of the forks".into())));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{BlobParams, Clique, CodeSize, Consensus};

    #[test]
    fn a_kept_file_is_held_to_its_sum() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("genesis.json");
        fs::write(&from, "{}").unwrap();
        let store = folder.path().join("store");
        fs::create_dir(&store).unwrap();
        assert_eq!(kept_in(&store).unwrap(), None);
        for text in ["{}", "{\"a\": 1}"] {
            fs::write(&from, text).unwrap();
            keep_in(&store, &from).unwrap();
            let kept = kept_in(&store).unwrap().unwrap();
            assert_eq!(fs::read_to_string(&kept).unwrap(), text);
            assert_eq!(fs::read_dir(&store).unwrap().count(), 2);
        }
        fs::write(store.join(FILE), "{\"a\": 2}").unwrap();
        assert!(matches!(kept_in(&store), Err(KeptError::Corrupt { .. })));
        fs::remove_file(store.join(FILE)).unwrap();
        assert!(matches!(kept_in(&store), Err(KeptError::Corrupt { .. })));
        // an import that names the chain writes it again
        keep_in(&store, &from).unwrap();
        assert!(kept_in(&store).unwrap().is_some());
    }

    #[test]
    fn only_what_begins_later_may_differ() {
        let config = |switches: &[(&str, u64)]| {
            let mut config = Config::frontier(crate::U256::from(7));
            switches.iter().for_each(|(key, at)| assert!(config.set(key, *at), "{key}"));
            config
        };
        let reached = Reached { number: 10, time: 100 };
        let kept = config(&[("homesteadBlock", 3), ("shanghaiTime", 50)]).held_at(reached);
        let later = [("homesteadBlock", 3), ("shanghaiTime", 50), ("cancunTime", 101)];
        assert_eq!(config(&later).held_at(reached), kept);
        let mut another_id = config(&[("homesteadBlock", 3), ("shanghaiTime", 50)]);
        another_id.chain_id = crate::U256::from(8);
        for other in [
            config(&[("homesteadBlock", 4), ("shanghaiTime", 50)]),
            config(&[("homesteadBlock", 3), ("shanghaiTime", 50), ("cancunTime", 100)]),
            config(&[("homesteadBlock", 3)]),
            another_id,
        ] {
            assert_ne!(other.held_at(reached), kept, "{other:?}");
        }
    }

    #[test]
    fn every_setting_is_compared_once_blocks_depend_on_it() {
        let reached = Reached { number: 10, time: 100 };
        let mut kept = Config::frontier(crate::U256::from(7));
        let begun = ["daoForkBlock", "pragueTime"];
        begun.iter().for_each(|key| assert!(kept.set(key, 5), "{key}"));
        let with = |change: &dyn Fn(&mut Config)| {
            let mut other = kept.clone();
            change(&mut other);
            other.held_at(reached) == kept.held_at(reached)
        };
        let blobs = BlobParams { target: 1, ..BlobParams::CANCUN };
        assert!(with(&|_| ()));
        assert!(!with(&|it| it.chain_id = crate::U256::from(8)));
        assert!(!with(&|it| it.dao_fork_support = true));
        assert!(!with(&|it| it.deposit_contract = [1; 20]));
        assert!(!with(&|it| it.terminal_total_difficulty = Some(crate::U256::ONE)));
        assert!(!with(&|it| assert!(it.set_blobs("prague", blobs))));
        assert!(with(&|it| assert!(it.set_blobs("osaka", blobs))));
        for (block, is_same) in [(10, false), (11, true)] {
            assert_eq!(with(&|it| it.merge_block = Some(block)), is_same);
            let own = |limit| CodeSize::nethermind(Some(limit), block, Some(101));
            let first = Config { code_size: own(64), ..kept.clone() };
            let second = Config { code_size: own(65), ..kept.clone() };
            assert_eq!(first.held_at(reached) == second.held_at(reached), is_same);
            let delays =
                |at| Config { bomb_delays: Some(vec![(0, 1), (block, at)]), ..kept.clone() };
            assert_eq!(delays(2).held_at(reached) == delays(3).held_at(reached), is_same);
        }
        assert!(!with(&|it| it.code_size = CodeSize::besu(64)));
        assert!(!with(&|it| it.code_size = CodeSize::nethermind(Some(64), 11, None)));
        assert!(!with(&|it| it.bomb_delays = Some(vec![])));
        assert!(!with(&|it| it.consensus = Consensus::Clique(Clique::DEFAULT)));
        for switch in &SWITCHES {
            let is_begun = begun.contains(&switch.key);
            let (last, later) = if switch.by_time() { (100, 101) } else { (10, 11) };
            assert!(!with(&|it| assert!(it.set(switch.key, last))), "{}", switch.key);
            assert_eq!(with(&|it| assert!(it.set(switch.key, later))), !is_begun, "{}", switch.key);
        }
    }
}
