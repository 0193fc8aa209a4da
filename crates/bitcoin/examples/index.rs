//! Measures pass 1 with all its options, with files in the page cache and not:
//! `cargo run --release -p blockmill-bitcoin --example index -- PATH [THREADS]`, with
//! `BLOCKMILL_FIXTURES` set.
//! If PATH does not exist, 1 GB of block files in random order is made there.

use blockmill_archive::blkdat::{BlockFiles, BlockWriter, Network, WriterOptions, open};
use blockmill_bitcoin::index::scan::{Scan, pass1};
use blockmill_bitcoin::option_table::Setting;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Real blocks whose headers are changed to make a chain of them.
const MODELS: [&str; 4] = [
    "core-bench-block413567.raw",
    "bitcoinj-block481829.dat",
    "rustbitcoin-702861.raw",
    "bcoin-block928816.raw",
];

/// Bytes of all files together.
const TOTAL: usize = 1 << 30;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("usage: index PATH [THREADS]")?);
    let threads = match arguments.next() {
        Some(threads) => threads.parse()?,
        None => std::thread::available_parallelism()?.get(),
    };
    if !path.exists() {
        make(&path, &blockmill_testkit::fixture("bitcoin/blocks"))?;
    }
    let files = open(&[path], None)?;
    println!("{} files, {} bytes, {threads} threads", files.files().len(), files.bytes());
    println!("{:44} {:>10} {:>10} {:>12}", "", "warm ms", "cold ms", "bytes read");
    for (name, setting) in Setting::rungs() {
        measure(name, &files, &setting, threads)?;
    }
    for (option, value, setting) in Setting::default().neighbours() {
        if setting.plan().accept_blocks == Setting::default().plan().accept_blocks {
            let name = format!("blockmill, {}={value}", option.name);
            measure(&name, &files, &setting, threads)?;
        }
    }
    Ok(())
}

/// Writes a chain of large blocks in random order.
fn make(folder: &Path, models: &Path) -> Result<(), Box<dyn Error>> {
    let models = MODELS.map(|name| fs::read(models.join(name)));
    let mut models = models.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mean = models.iter().map(Vec::len).sum::<usize>() / models.len();
    let mut headers = vec![];
    let mut parent = [0; 32];
    for nonce in 0..TOTAL / mean {
        let model = nonce % models.len();
        let header = &mut models[model][..80];
        header[4..36].copy_from_slice(&parent);
        header[76..].copy_from_slice(&(nonce as u32).to_le_bytes());
        parent = blockmill_hashes::sha256d(header);
        headers.push((model, header.to_vec()));
    }
    let mut random = 1_u64;
    for i in (1..headers.len()).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        headers.swap(i, (random >> 33) as usize % (i + 1));
    }
    let mut writer = BlockWriter::create(folder, WriterOptions::core(Network::Mainnet))?;
    for (model, header) in headers {
        models[model][..80].copy_from_slice(&header);
        writer.write(&models[model])?;
    }
    writer.finish()?;
    Ok(())
}

/// The best of three, warm and cold.
fn measure(
    name: &str,
    files: &BlockFiles,
    setting: &Setting,
    threads: usize,
) -> Result<(), Box<dyn Error>> {
    let (mut warm, mut cold) = (f64::MAX, f64::MAX);
    let mut last = Scan::default();
    for _ in 0..3 {
        forget(files)?;
        cold = cold.min(time(&mut last, files, setting, threads)?);
    }
    keep(files)?;
    for _ in 0..3 {
        warm = warm.min(time(&mut last, files, setting, threads)?);
    }
    if last.orphans.is_empty() && last.accepted.len() == last.found.len() {
        println!("{name:44} {warm:10.2} {cold:10.2} {:12}", last.counts.bytes_read);
        return Ok(());
    }
    Err(format!("{name}: {:?}", last.counts).into())
}

fn time(
    scan: &mut Scan,
    files: &BlockFiles,
    setting: &Setting,
    threads: usize,
) -> Result<f64, Box<dyn Error>> {
    let start = Instant::now();
    *scan = pass1(files, &[], setting, threads)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Reads all files, so that they are in the page cache.
fn keep(files: &BlockFiles) -> Result<(), Box<dyn Error>> {
    for file in files.files() {
        fs::read(file.path())?;
    }
    Ok(())
}

/// Drops the files from the page cache.
fn forget(files: &BlockFiles) -> Result<(), Box<dyn Error>> {
    for file in files.files() {
        let output = format!("of={}", file.path().display());
        let options = ["oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"];
        Command::new("dd").arg("if=/dev/null").arg(output).args(options).status()?;
    }
    Ok(())
}
