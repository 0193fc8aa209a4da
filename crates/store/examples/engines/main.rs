//! Which key-value engine should carry the tree? Runs every candidate on our four workloads and
//! prints one table; the reading of it is `docs/store-choice.md`.
//!
//! ```text
//! cargo run --release -p blockmill-store --features engines --example engines -- --entries 1000000
//! ```
//!
//! Each cell runs in a process of its own (this program starts itself), three times, engines in
//! turn, and the median counts. `--features mdbx,rocksdb` adds the two that need libclang.

mod engine;
mod workload;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Rounds of the whole table.
const ROUNDS: usize = 3;

/// What one cell measured.
#[derive(Clone, Copy)]
struct Cell {
    operations_per_second: u64,
    disk_bytes: u64,
    peak_bytes: u64,
}

struct Arguments {
    entries: u64,
    dir: PathBuf,
    /// Engine and workload, when this process is to measure one cell.
    cell: Option<(String, String)>,
}

fn arguments() -> Result<Arguments> {
    let mut found =
        Arguments { entries: 500_000, dir: env::temp_dir().join("blockmill-engines"), cell: None };
    let mut given = env::args().skip(1);
    while let Some(name) = given.next() {
        let mut value = || given.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--entries" => found.entries = value()?.parse()?,
            "--dir" => found.dir = value()?.into(),
            "--cell" => found.cell = Some((value()?, value()?)),
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    Ok(found)
}

fn main() -> ExitCode {
    let run = arguments().and_then(|arguments| match &arguments.cell {
        Some((engine, workload)) => measure(&arguments, engine, workload),
        None => table(&arguments),
    });
    match run {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures one cell in this process and prints its three numbers.
fn measure(arguments: &Arguments, engine: &str, workload: &str) -> Result<()> {
    std::fs::create_dir_all(&arguments.dir)?;
    let rate = workload::run(engine, workload, &arguments.dir, arguments.entries)?;
    println!("{} {} {}", rate as u64, disk_bytes(&arguments.dir)?, peak_bytes()?);
    Ok(())
}

/// Bytes that the folder takes on disk; holes of sparse files do not count.
fn disk_bytes(dir: &Path) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes +=
            if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.blocks() * 512 };
    }
    Ok(bytes)
}

/// The most memory that this process ever held, mapped file pages included.
fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kibibytes: u64 = line.split_whitespace().nth(1).ok_or("no value")?.parse()?;
    Ok(kibibytes * 1024)
}

/// Measures every cell in processes of their own and prints the medians.
fn table(arguments: &Arguments) -> Result<()> {
    let mut cells: BTreeMap<(usize, usize), Vec<Cell>> = BTreeMap::new();
    for round in 0..ROUNDS {
        for (w, workload) in workload::NAMES.iter().enumerate() {
            for turn in 0..engine::NAMES.len() {
                let e = (turn + round) % engine::NAMES.len();
                let engine = engine::NAMES[e];
                if !workload::applies(engine, workload) {
                    continue;
                }
                eprintln!("round {} of {ROUNDS}: {workload} on {engine}", round + 1);
                cells.entry((w, e)).or_default().push(run_cell(arguments, engine, workload)?);
            }
        }
    }
    println!("| workload | engine | operations/s | disk MiB | peak RSS MiB |");
    println!("|---|---|---:|---:|---:|");
    for ((w, e), runs) in cells {
        let median = |value: fn(&Cell) -> u64| {
            let mut values: Vec<u64> = runs.iter().map(value).collect();
            values.sort_unstable();
            values[values.len() / 2]
        };
        println!(
            "| {} | {} | {} | {} | {} |",
            workload::NAMES[w],
            engine::NAMES[e],
            median(|cell| cell.operations_per_second),
            median(|cell| cell.disk_bytes) >> 20,
            median(|cell| cell.peak_bytes) >> 20,
        );
    }
    Ok(())
}

fn run_cell(arguments: &Arguments, engine: &str, workload: &str) -> Result<Cell> {
    let dir = arguments.dir.join(format!("{}-{engine}-{workload}", std::process::id()));
    let output = Command::new(env::current_exe()?)
        .arg("--entries")
        .arg(arguments.entries.to_string())
        .arg("--dir")
        .arg(&dir)
        .args(["--cell", engine, workload])
        .output()?;
    let _ = std::fs::remove_dir_all(&dir);
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    let &[operations_per_second, disk_bytes, peak_bytes] = numbers.as_slice() else {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{workload} on {engine}: {reason}").into());
    };
    Ok(Cell { operations_per_second, disk_bytes, peak_bytes })
}
