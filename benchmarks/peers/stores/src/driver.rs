//! Does one operation of `measures = "store"` with the store of this program, and prints what it
//! took as a line of JSON. README.md says how it is called.

// what is done and measured, as the product's own program does it
#[path = "../../../../crates/bench/src/workloads/store/keys.rs"]
pub mod keys;
#[path = "../../../../crates/bench/src/workloads/store/workload.rs"]
pub mod workload;

use keys::Draw;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use workload::{Error, Job, KeyValueStore, Operation};

/// A store that can be measured.
pub struct Store {
    /// Its package and the version of that.
    pub version: &'static str,
    /// Opens or creates a database in a folder, with so many bytes of memory.
    pub open: fn(&Path, usize) -> Result<Box<dyn KeyValueStore>, Error>,
}

struct Arguments {
    dir: PathBuf,
    memory: usize,
    job: Job,
}

/// What the program does.
pub fn main(store: &Store) -> ExitCode {
    match arguments().and_then(|arguments| measure(store, &arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn arguments() -> Result<Arguments, Error> {
    let mut given = std::env::args().skip(1);
    let job = Job { operation: Operation::Get, keys: 0, draw: Draw::Uniform, blocks: 0 };
    let mut found = Arguments { dir: PathBuf::new(), memory: 0, job };
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "-dir" => found.dir = value.into(),
            "-memory" => found.memory = value.parse()?,
            "-keys" => found.job.keys = value.parse()?,
            "-draw" => {
                let draw = Draw::by_name(&value);
                found.job.draw = draw.ok_or(format!("unknown draw {value}"))?;
            }
            "-blocks" => found.job.blocks = value.parse()?,
            "-op" => {
                let operation = Operation::by_name(&value);
                found.job.operation = operation.ok_or(format!("unknown operation {value}"))?;
            }
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    if found.job.keys < workload::LEAST_KEYS
        || found.memory == 0
        || found.dir.as_os_str().is_empty()
    {
        return Err("-dir, -memory and -keys (at least 10000) are needed".into());
    }
    if found.job.operation == Operation::Blocks && found.job.blocks == 0 {
        return Err("-op blocks: -blocks is needed".into());
    }
    Ok(found)
}

fn measure(store: &Store, arguments: &Arguments) -> Result<(), Error> {
    std::fs::create_dir_all(&arguments.dir)?;
    let mut database = (store.open)(&arguments.dir, arguments.memory)?;
    let measured = workload::run(&mut *database, arguments.job)?;
    drop(database);
    println!(
        "{{\"version\":\"{}\",\
         \"facts\":{{\"time_ns\":{:.3},\"operations\":{},\"disk_bytes\":{}}},\
         \"answer\":{{\"bytes\":\"{}\",\"digest\":\"{:#018x}\"}}}}",
        store.version,
        measured.nanoseconds(),
        measured.operations,
        bytes_in(&arguments.dir)?,
        measured.bytes,
        measured.digest,
    );
    Ok(())
}

/// Bytes of all files below a folder.
fn bytes_in(folder: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.metadata()?;
        bytes += if file.is_dir() { bytes_in(&entry.path())? } else { file.len() };
    }
    Ok(bytes)
}
