//! Core's own reindex of given block files, in a datadir of its own; and the coins of a datadir.

use crate::kernel::{self, Request};
use crate::memory;
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// The arguments of `reindex` and `utxo`.
#[derive(Default)]
pub struct Options {
    pub dir: PathBuf,
    pub chain: String,
    /// Block files in the order in which Core reads them, or folders of them.
    pub paths: Vec<PathBuf>,
    /// MiB of all caches; 0 for the kernel's 450.
    pub cache: u64,
    pub threads: i32,
    pub fetch_threads: Option<i32>,
    pub assumed_valid: Option<[u8; 32]>,
    pub level: Level,
    pub cold: bool,
    pub log: bool,
}

/// How far a reindex goes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Level {
    /// All blocks are in the index.
    Headers,
    /// The best chain is connected.
    #[default]
    Execution,
}

/// The kernel's own default (DEFAULT_KERNEL_CACHE), in MiB.
const CACHE: u64 = 450;

/// The kernel's own default (DEFAULT_PREVOUTFETCH_THREADS).
const FETCH_THREADS: i32 = 8;

/// Reads the arguments after the name of the mode.
pub fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, Box<dyn Error>> {
    let mut options = Options { chain: "main".into(), ..Options::default() };
    while let Some(name) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--dir" => options.dir = value()?.into(),
            "--chain" => options.chain = value()?,
            "--cache" => options.cache = value()?.parse()?,
            "--threads" => options.threads = value()?.parse()?,
            "--fetch-threads" => options.fetch_threads = Some(value()?.parse()?),
            "--assume-valid" => options.assumed_valid = Some(hash(&value()?)?),
            "--level" => options.level = level(&value()?)?,
            "--page-cache" => options.cold = value()? == "cold",
            "--log" => options.log = true,
            path if path.starts_with("--") => return Err(format!("unknown option {path}").into()),
            path => options.paths.push(path.into()),
        }
    }
    if options.dir.as_os_str().is_empty() {
        return Err("--dir is missing".into());
    }
    Ok(options)
}

fn level(name: &str) -> Result<Level, Box<dyn Error>> {
    match name {
        "headers" => Ok(Level::Headers),
        "execution" => Ok(Level::Execution),
        _ => Err(format!("expected headers or execution, found {name}").into()),
    }
}

/// A block hash in hex, as users know it: its bytes backwards.
fn hash(hex: &str) -> Result<[u8; 32], Box<dyn Error>> {
    let mut hash = [0; 32];
    if hex.len() != 64 || !hex.is_ascii() {
        return Err(format!("expected a hash of 64 hex digits, found {hex}").into());
    }
    for (at, byte) in hash.iter_mut().rev().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16)?;
    }
    Ok(hash)
}

/// Copies the block files into a new datadir, lets Core reindex them, and prints the part of a run
/// record that it alone knows. The coins are counted and hashed when the clock has stopped.
pub fn reindex(options: &Options) -> Result<(), Box<dyn Error>> {
    let (files, bytes) = copy(options)?;
    let request = request(options)?;
    let done = kernel::reindex(&request)?;
    let wall_s = done.open + done.load + done.connect + done.flush;
    let mut line = json!({
        "version": VERSION,
        "facts": {
            "wall_s": wall_s,
            "cpu_user_s": done.cpu_user,
            "cpu_sys_s": done.cpu_sys,
            "peak_rss_bytes": memory::peak_rss_bytes(),
            "files": files,
            "file_bytes": bytes,
            "index_s": done.load,
            // with the last write, as ours has
            "connect_s": done.connect + done.flush,
            "commit_s": done.flush,
            "blocks_per_s": f64::from(done.height) / wall_s,
        },
        "stages": [
            stage("open", done.open),
            stage("load", done.load),
            stage("connect", done.connect),
            stage("close", done.flush),
        ],
        // with the genesis block alone, nothing of the files is in the chain
        "tip": (done.height > 0).then(|| json!({ "number": done.height, "hash": done.tip })),
    });
    if options.level == Level::Execution {
        let found = kernel::utxo(&request)?;
        line["answer"] = json!({ "coins": found.coins.to_string(), "coins_hash": found.hash });
    }
    println!("{line}");
    Ok(fs::remove_dir_all(&options.dir)?)
}

/// A part of a run.
fn stage(name: &str, busy_s: f64) -> Value {
    json!({ "name": name, "threads": 1, "busy_s": busy_s })
}

/// Prints the statistics of the coins of a datadir as a line of JSON.
pub fn utxo(options: &Options) -> Result<(), Box<dyn Error>> {
    let found = kernel::utxo(&request(options)?)?;
    let line = json!({
        "mode": "utxo",
        "version": VERSION,
        "height": found.height,
        "tip": found.tip,
        "coins": found.coins,
        "amount": found.amount,
        "transactions": found.transactions,
        "hash_serialized_3": found.hash,
    });
    println!("{line}");
    Ok(())
}

const VERSION: &str = "bitcoinkernel 0.3.2, Bitcoin Core 31.99";

fn request(options: &Options) -> Result<Request, Box<dyn Error>> {
    let mebibytes = if options.cache == 0 { CACHE } else { options.cache };
    Ok(Request {
        dir: options.dir.to_str().ok_or("a path that is no UTF-8")?.into(),
        chain: options.chain.clone(),
        assumed_valid: options.assumed_valid,
        cache: mebibytes << 20,
        script_threads: options.threads,
        fetch_threads: options.fetch_threads.unwrap_or(FETCH_THREADS),
        log: options.log,
        index_only: options.level == Level::Headers,
    })
}

/// The datadir is Core's own, so it gets copies. Returns the number of files and their bytes.
fn copy(options: &Options) -> Result<(usize, u64), Box<dyn Error>> {
    let files = block_files(&options.paths)?;
    let first = files.first().ok_or("no block files")?;
    let blocks = options.dir.join("blocks");
    if blocks.exists() {
        return Err(format!("{}: expected a new folder", options.dir.display()).into());
    }
    fs::create_dir_all(&blocks)?;
    let key = first.with_file_name("xor.dat");
    if key.exists() {
        fs::copy(key, blocks.join("xor.dat"))?;
    }
    let mut bytes = 0;
    for (number, file) in files.iter().enumerate() {
        let copy = blocks.join(format!("blk{number:05}.dat"));
        bytes += fs::copy(file, &copy)?;
        if options.cold {
            kernel::evict(&copy)?;
        }
    }
    Ok((files.len(), bytes))
}

/// The files themselves, and those of folders in the order of their names.
fn block_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let is_block_file = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("blk") && name.ends_with(".dat")
    };
    let mut files = vec![];
    for path in paths {
        if path.is_dir() {
            let entries = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
            let mut found = entries.collect::<Result<Vec<_>, _>>()?;
            found.retain(|path| is_block_file(path));
            found.sort();
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}
