//! `bench store`: our store of keys and values beside others, each operation in a process of its
//! own, on databases that were filled alike.

mod ours;
mod workload;

pub use workload::{Job, Operation};

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Error, Result, anyhow, ensure};
use pipeline::machine::Machine;
use pipeline::writer_record::{WriterEngine, WriterLine, WriterRecord, WriterRun};

use crate::answers::Answers;
use crate::cold;
use crate::peers::process;
use crate::peers::programs::{Peers, ReadyProgram, read_line};
use crate::scratch::Scratch;

/// The name of ours.
const OURS: &str = "blockmill";

/// Where the pages of a database are when an operation begins, and how much memory the store gets
/// for caches and for changes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// In the page cache, as the operation before left them; 1 GiB.
    Warm,
    /// On disk only; 64 MiB.
    Cold,
}

impl Setting {
    fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Cold => "cold",
        }
    }

    fn memory(self) -> usize {
        match self {
            Self::Warm => 1 << 30,
            Self::Cold => 64 << 20,
        }
    }
}

/// A setting, and how many keys the databases hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The setting.
    pub setting: Setting,
    /// Keys that were put in.
    pub keys: u64,
}

/// Databases of so many keys are filled once in a round, as that takes some stores minutes.
const FILLED_ONCE: u64 = 5_000_000;

impl Case {
    /// Does `next` go on with the databases of this case, as it leaves them?
    fn shares_databases(self, next: &Case) -> bool {
        self.keys >= FILLED_ONCE && self.keys == next.keys
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.setting.name(), self.keys)
    }
}

impl FromStr for Case {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let wrong = || anyhow!("expected warm-N or cold-N, N at least 10000, found {name}");
        let (setting, keys) = name.split_once('-').ok_or_else(wrong)?;
        let known = [Setting::Warm, Setting::Cold];
        let setting = known.into_iter().find(|known| known.name() == setting);
        let keys = keys.parse().ok().filter(|keys| *keys >= workload::LEAST_KEYS);
        Ok(Self { setting: setting.ok_or_else(wrong)?, keys: keys.ok_or_else(wrong)? })
    }
}

/// What to compare.
#[derive(Debug)]
pub struct Plan {
    /// The databases.
    pub cases: Vec<Case>,
    /// The file that names the peers, when they are to run.
    pub engines: Option<PathBuf>,
    /// Rounds; each begins with empty databases.
    pub rounds: u32,
    /// Where databases are made.
    pub scratch: Scratch,
    /// The program to run as a child, `blockmill` itself.
    pub program: PathBuf,
}

/// Our store or a peer.
enum Contestant {
    Ours,
    Peer(Box<ReadyProgram>),
}

impl Contestant {
    fn engine(&self) -> WriterEngine {
        match self {
            Self::Ours => WriterEngine {
                name: OURS.to_owned(),
                label: OURS.to_owned(),
                client: OURS.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            Self::Peer(ready) => ready.engine(),
        }
    }
}

/// Measures everything that `plan` names, round by round. In a round, all stores do the same
/// operation before the next one comes; who begins changes from operation to operation.
///
/// # Errors
/// When a process fails, or when two stores do not find the same.
pub fn run(plan: &Plan, mut tell: impl FnMut(&str)) -> Result<WriterRecord> {
    let mut record = WriterRecord::new(Machine::detect());
    record.command = crate::child::command_line();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    record.started_unix = since_1970.as_secs_f64();
    let mut contestants = vec![Contestant::Ours];
    if let Some(engines) = &plan.engines {
        let peers = Peers::Store.prepare_all(engines, &mut record.notes, &mut tell)?;
        contestants.extend(peers.into_iter().map(|peer| Contestant::Peer(Box::new(peer))));
    }
    record.engines = contestants.iter().map(Contestant::engine).collect();
    let mut answers = Answers::default();
    for round in 1..=plan.rounds {
        for (at, case) in plan.cases.iter().enumerate() {
            let is_filled = at > 0 && plan.cases[at - 1].shares_databases(case);
            for operation in Operation::ALL {
                if is_filled && operation == Operation::Fill {
                    continue;
                }
                tell(&format!("round {round} of {}: {case}, {}", plan.rounds, operation.name()));
                for contestant in &contestants {
                    let line = plan.measure(contestant, *case, operation)?;
                    answers.agree(operation.name(), &line)?;
                    record.runs.push(WriterRun { round, line });
                }
                contestants.rotate_left(1);
            }
            if plan.cases.get(at + 1).is_none_or(|next| !case.shares_databases(next)) {
                fs::remove_dir_all(plan.scratch.store()).context("cannot remove the databases")?;
            }
        }
    }
    Ok(record)
}

impl Plan {
    /// Runs one process.
    fn measure(
        &self,
        contestant: &Contestant,
        case: Case,
        operation: Operation,
    ) -> Result<WriterLine> {
        let name = contestant.engine().name;
        let what = || format!("{name}, {} of {case}", operation.name());
        let dir = self.scratch.store().join(&name);
        if operation == Operation::Fill && dir.exists() {
            fs::remove_dir_all(&dir).with_context(|| format!("cannot empty {}", dir.display()))?;
        }
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        if case.setting == Setting::Cold {
            cold::evict(&dir)?;
        }
        let folder = dir.to_str().context("the scratch folder's name is not text")?.to_owned();
        let (case, op) = (case.to_string(), operation.name().to_owned());
        let line = match contestant {
            Contestant::Ours => {
                let mut command = Command::new(&self.program);
                command.args(["bench", "store-once", "--dir", &folder]);
                command.args(["--case", &case, "--op", &op]);
                read_line(&process::watch(&mut command).context("cannot run the program again")?)
            }
            Contestant::Peer(ready) => {
                let parsed: Case = case.parse()?;
                ready.measure(&[
                    ("-dir", folder),
                    ("-case", case.clone()),
                    ("-op", op.clone()),
                    ("-keys", parsed.keys.to_string()),
                    ("-memory", parsed.setting.memory().to_string()),
                ])
            }
        };
        let mut line = line.with_context(what)?;
        let said = (&line.engine, &line.op, &line.case);
        ensure!(said == (&name, &op, &case), "expected {}, found {said:?}", what());
        line.disk_bytes = disk_bytes(&dir)?;
        Ok(line)
    }
}

/// Measures one operation of our store, in the process that was started for it.
///
/// # Errors
/// Those of the store.
pub fn once(dir: &Path, case: Case, operation: Operation) -> Result<WriterLine> {
    let mut store = ours::Ours::open(dir, case.setting.memory()).map_err(|error| anyhow!(error))?;
    let job = Job { operation, keys: case.keys };
    let measured = workload::run(&mut store, job).map_err(|error| anyhow!(error))?;
    Ok(WriterLine {
        engine: OURS.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        case: case.to_string(),
        op: operation.name().to_owned(),
        bytes: measured.bytes,
        digest: format!("0x{:064x}", measured.digest),
        samples_ns: vec![measured.nanoseconds()],
        iterations: measured.operations,
        ..WriterLine::default()
    })
}

/// Bytes of the files in and below a folder.
fn disk_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let entry = entry?;
        let file = entry.metadata()?;
        bytes += if file.is_dir() { disk_bytes(&entry.path())? } else { file.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::workload::{Change, Engine, Key};
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn cases_are_read_as_they_are_written() {
        for (setting, keys) in [(Setting::Warm, 10_000), (Setting::Cold, 10_000_000)] {
            let case = Case { setting, keys };
            assert_eq!(case.to_string().parse::<Case>().unwrap(), case);
        }
        for name in ["warm", "hot-10000", "warm-9999", "cold-x", "cold--10000"] {
            let error = name.parse::<Case>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("found {name}")), "{error}");
        }
    }

    /// The naive store.
    #[derive(Default)]
    struct Map(BTreeMap<Key, Vec<u8>>);

    type Done = Result<(), workload::Error>;

    impl Engine for Map {
        fn get(&mut self, key: &Key, out: &mut Vec<u8>) -> Result<bool, workload::Error> {
            Ok(self.0.get(key).map(|value| out.extend(value)).is_some())
        }

        fn get_many(&mut self, keys: &[Key], found: &mut dyn FnMut(&[u8])) -> Done {
            keys.iter().filter_map(|key| self.0.get(key)).for_each(|value| found(value));
            Ok(())
        }

        fn scan(&mut self, prefix: &[u8], found: &mut dyn FnMut(&[u8], &[u8])) -> Done {
            let pairs = self.0.iter().filter(|(key, _)| key.starts_with(prefix));
            pairs.for_each(|(key, value)| found(key, value));
            Ok(())
        }

        fn apply(&mut self, changes: &[Change]) -> Done {
            for (key, value) in changes {
                match value {
                    Some(value) => drop(self.0.insert(*key, value.clone())),
                    None => drop(self.0.remove(key)),
                }
            }
            Ok(())
        }

        fn settle(&mut self) -> Done {
            Ok(())
        }
    }

    #[test]
    fn our_store_finds_what_a_map_finds() {
        let dir = tempfile::tempdir().unwrap();
        let mut map = Map::default();
        let again = [Operation::Get, Operation::GetMany, Operation::Scan];
        for operation in Operation::ALL.into_iter().chain(again) {
            // as in the benchmark, each operation opens the store anew; with little memory
            let mut ours = ours::Ours::open(dir.path(), 1 << 20).unwrap();
            let job = Job { operation, keys: 20_000 };
            let expected = workload::run(&mut map, job).unwrap();
            let found = workload::run(&mut ours, job).unwrap();
            let facts = |m: workload::Measured| (m.operations, m.bytes, m.digest);
            assert_eq!(facts(found), facts(expected), "{}", operation.name());
            let is_absent = operation == Operation::GetAbsent;
            assert_eq!((expected.digest == 0, expected.bytes == 0), (is_absent, is_absent));
            assert!(expected.operations >= 20_000, "{}", expected.operations);
        }
    }
}
