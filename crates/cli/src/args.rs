//! The command line: verbs, flags and their help.

mod check;
mod execution;
mod export;
mod generate;
mod inspect;
mod outputs;
mod remote;
mod report;

use crate::remote::Mounted;
use blockmill_archive::{Compression, Target, format};
use blockmill_verdict::Level;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, value_parser};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

pub use check::Check;
#[cfg(feature = "ethereum")]
pub use execution::WitnessFormat;
pub use execution::{Heal, Prove, Test, Unwind, Witness};
pub use export::Export;
#[cfg(feature = "export")]
pub use export::{ExportNames, Rows};
#[cfg(feature = "bitcoin")]
pub use generate::Order;
pub use generate::{GenerateBitcoin, GenerateEthereum, GenerateNeo};
pub use inspect::Inspect;
pub use outputs::{Force, Outputs};
pub use remote::Remote;
pub use report::{Demo, Report, Serve};

/// Imports raw blockchain archives at hardware speed, verifies them, and shows where the time went.
#[derive(Debug, Parser)]
#[command(name = "blockmill", version, about, max_term_width = 100)]
#[command(args_override_self = true, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How every command is run.
    #[command(flatten)]
    pub general: General,
}

/// The flags that every command has.
#[derive(Args, Clone, Debug, Default)]
pub struct General {
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Read flags from this file [default: blockmill.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Also append everything that is printed to this file, with the time of each line
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// Numbers of threads. The limit is there so that a typing error does not exhaust the machine.
pub const THREADS: RangeInclusive<u64> = 1..=1024;
/// Numbers of headers in a chunk.
pub const CHUNKS: RangeInclusive<u64> = 1..=1 << 20;
/// MiB of memory for coins, changes and caches.
pub const CACHES_MIB: RangeInclusive<u64> = 1..=(1 << 20) - 1;
/// Seconds between two commits.
pub const COMMITS_S: RangeInclusive<u64> = 1..=1 << 32;

/// Headers in a chunk, by default.
pub const CHUNK: usize = 2048;
/// MiB of memory for coins, changes and caches, by default.
pub const CACHE_MIB: u64 = 450;
/// Seconds between two commits, by default.
pub const COMMIT_EVERY_S: u64 = 300;

/// Numbers of threads.
fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(THREADS)
}

/// Numbers of headers in a chunk.
fn chunk() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(CHUNKS)
}

/// Decodes pairs of hexadecimal digits.
pub fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match *pair {
        [high, low] => Some((16 * digit(high)? + digit(low)?) as u8),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Verify and store an archive; resumes where an earlier run stopped
    Import(Import),
    /// Verify an archive and keep nothing; the exit code says whether it is good
    Verify(Verify),
    /// Say what is in an archive: format, chain, range, gaps, corruption
    Inspect(Inspect),
    /// Read all of a store, say what is corrupt and what repairs it
    Check(Check),
    /// Roll back blocks of a store, with the state after them
    Unwind(Unwind),
    /// Execute single blocks, each with the part of the state that it needs; or write such a file
    /// for a block of a store
    Witness(Witness),
    /// Repair a flat+trie state from its redundant copy
    Heal(Heal),
    /// Prove an account and slots of its storage, as `eth_getProof` does
    Prove(Prove),
    /// Run the public tests of the Ethereum execution layer
    Test(Test),
    /// Write an archive in another format
    Convert(Convert),
    /// Verify an archive and write it as tables: Parquet, for DuckDB, Polars, Spark
    Export(Export),
    /// Measure, side by side with earlier designs and other clients (starts blockmill-bench)
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bench {
        /// Arguments of blockmill-bench: a definition and flags, or --help
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
    /// Generate a deterministic archive of any size
    #[command(subcommand)]
    Generate(Generate),
    /// Draw run records: tables, charts, one HTML page
    Report(Report),
    /// Show the run of a record as a page and as Prometheus metrics, until Ctrl-C
    Serve(Serve),
    /// Generate small chains, import them, find a corrupt byte, and write the report
    Demo(Demo),
    /// Print completions for a shell
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Write man pages into a folder
    Man {
        /// The folder
        folder: PathBuf,
        #[command(flatten)]
        force: Force,
    },
}

/// What and how to verify; the same for `import` and `verify`.
#[derive(Args, Clone, Debug)]
pub struct Verification {
    #[arg(required = true, value_name = "PATH", help = archives())]
    pub paths: Vec<PathBuf>,
    /// Bitcoin stores that were given; in their place `paths` has the files they were built from.
    #[arg(skip)]
    #[cfg_attr(not(any(feature = "bitcoin", feature = "export")), expect(dead_code))]
    pub stores: Vec<PathBuf>,
    /// Ethereum: mainnet, sepolia, holesky, hoodi or a genesis.json; Bitcoin: mainnet, testnet3,
    /// testnet4, signet, regtest; Neo: mainnet, testnet, a protocol.yml or config.json
    /// [default: detected]
    #[arg(long, value_name = "NAME|FILE")]
    pub chain: Option<String>,
    /// How deep to verify [default: execution; Ethereum: bodies where the state before the archive
    /// is not known, headers where there are no bodies]
    #[arg(long, value_parser = levels())]
    pub level: Option<Level>,
    /// Compare the files with this list of SHA-256 checksums first [default: checksums.txt next to
    /// them, if there is one]
    #[arg(long, value_name = "FILE")]
    pub checksums: Option<PathBuf>,
    #[command(flatten)]
    pub remote: Remote,
    /// The files at the URLs among the paths, where a program has no command line.
    #[arg(skip)]
    #[allow(dead_code, reason = "they are there until the arguments are dropped")]
    pub mounted: Mounted,
    /// Seals to check, of work or of validators: off, all, 1/N [default: verify: all; import: 1/100]
    #[arg(long, value_name = "SAMPLE")]
    pub seal: Option<String>,
    /// Seed of the sample [default: random, and printed]
    #[arg(long, value_name = "N")]
    pub seal_seed: Option<u64>,
    /// Ethereum, Bitcoin: take this for the time, in seconds since 1970: blocks from beyond it are
    /// refused [default: the clock]
    #[arg(long, value_name = "SECONDS")]
    pub now: Option<u64>,
    /// Keep ethash caches in this folder, and use those of earlier runs
    #[arg(long, value_name = "DIR")]
    pub ethash_cache: Option<PathBuf>,
    /// First block
    #[arg(long, value_name = "N")]
    pub from: Option<u64>,
    /// Last block
    #[arg(long, value_name = "N")]
    pub until: Option<u64>,
    /// Blocks may be missing: succeed if all that are there are good
    #[arg(long)]
    pub partial: bool,
    /// A block hash that the chain must contain (may be repeated)
    #[arg(long, value_name = "HASH")]
    pub trust: Vec<String>,
    /// Ethereum, of ere files with proofs from after the merge: compare these proofs with the roots
    /// of the beacon chain in an era file, a folder of them, or a text with a root in each line
    #[arg(long, value_name = "PATH")]
    pub beacon_roots: Option<PathBuf>,
    /// Set an option, such as hash=single (may be repeated; see docs/reference/options.md)
    #[arg(long = "with", value_name = "NAME=VALUE")]
    pub with: Vec<String>,
    /// Threads that verify [default: one for each core, and one more with a state on disk]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
    /// Headers in a chunk; Neo: blocks, at most 512
    #[arg(long, default_value_t = CHUNK, value_name = "N", value_parser = chunk())]
    pub chunk: usize,
    /// Bitcoin, Neo: take the scripts or witnesses of this block and of those before it as valid
    #[arg(long, value_name = "HASH")]
    pub assume_valid: Option<String>,
    /// Bitcoin: MiB of memory for coins; the tree of headers takes 200 bytes a block next to it.
    /// Neo: MiB for blocks and changes of the state before they are committed, at most 32.
    /// Ethereum: of an import with its state on disk, MiB for changes and caches of the state
    #[arg(long, default_value_t = CACHE_MIB, value_name = "MIB")]
    #[arg(value_parser = value_parser!(u64).range(CACHES_MIB))]
    pub cache: u64,
    /// Bitcoin and Neo: the most seconds between two commits of what is verified
    #[arg(long, default_value_t = COMMIT_EVERY_S, value_name = "SECONDS")]
    #[arg(value_parser = value_parser!(u64).range(COMMITS_S))]
    pub commit_every: u64,
    /// Name of the run in tables and charts [default: import or verify]
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Show the run at this address while it is in progress, as a page and as Prometheus metrics
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    #[arg(default_missing_value = "127.0.0.1:9333")]
    pub serve: Option<SocketAddr>,
    /// Write the run record here [import: default DATA/records/]
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Sample where CPU time goes: the page of the record has a flame graph (Linux)
    #[arg(long)]
    pub profile: bool,
    #[command(flatten)]
    pub force: Force,
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("paths", |paths| paths.required(false).required_unless_present("state")))]
pub struct Import {
    #[command(flatten)]
    pub verification: Verification,
    /// Folder of the store
    #[arg(long, default_value = "blockmill-data", value_name = "DIR")]
    pub data: PathBuf,
    /// Import what is whole, wait until the paths have more, and continue until Ctrl-C, or until
    /// the block of --until (see docs/following.md)
    #[arg(long, conflicts_with_all = ["state", "partial", "checksums", "profile"])]
    pub follow: bool,
    /// Ethereum: begin with the state of this dump, as `geth dump --iterative` and `geth snapshot
    /// dump` write it, compressed or not. It is that after the store's last block
    #[arg(long, value_name = "DUMP", conflicts_with = "paths")]
    pub state: Option<PathBuf>,
    /// --state: store the blocks of this archive first, the last one that of the dump; --from and
    /// --until choose among them
    #[arg(long, value_name = "PATH", requires = "state")]
    pub block: Vec<PathBuf>,
    /// Neo, level execution: keep the state as of every block, not only of the last one
    #[arg(long)]
    pub history: bool,
    /// Ethereum and Neo, level execution: blocks that `unwind` can take back at least
    #[arg(long, default_value_t = 10_000, value_name = "BLOCKS")]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub unwind_depth: u64,
}

#[derive(Args, Clone, Debug)]
pub struct Verify {
    #[command(flatten)]
    pub verification: Verification,
    /// Verify the archive as a shard of a longer chain, and print its summary. Bitcoin block
    /// files: print their headers; unspent coins (DATADIR/chainstate): print the list of files
    #[arg(long)]
    pub shard: bool,
    /// --shard: the summary of all earlier blocks; Bitcoin: the table of the bodies to verify
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub after: Option<PathBuf>,
    /// Merge the summaries of shards (the paths), and print the summary of all; Bitcoin: print
    /// tables of the bodies to verify, or the verdict
    #[arg(long, conflicts_with = "shard")]
    pub merge: bool,
    /// --merge of Bitcoin shards: the archive that they are parts of, a folder or a file; reports
    /// what it lacks, as verify PATH does (may be repeated) [default: the files of the shards]
    #[arg(long, value_name = "PATH", requires = "merge")]
    pub of: Vec<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub struct Convert {
    /// Archives: files or folders
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Bitcoin stores that were given; in their place `paths` has the files they were built from.
    #[arg(skip)]
    pub stores: Vec<PathBuf>,
    /// Format to write
    #[arg(long, value_parser = target())]
    pub to: &'static Target,
    /// File or folder to write; era1 and ere name their files themselves in a folder
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// mainnet, sepolia, holesky, hoodi or a genesis.json [default: detected]
    #[arg(long, value_name = "NAME|FILE")]
    pub chain: Option<String>,
    /// First block
    #[arg(long, value_name = "N")]
    pub from: Option<u64>,
    /// Last block
    #[arg(long, value_name = "N")]
    pub until: Option<u64>,
    /// Blocks may be missing: succeed if all that are there are written
    #[arg(long)]
    pub partial: bool,
    /// --to core: the store of an import, which is brought up to date first and kept [default: one
    /// in the folder for temporary files, which is removed]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// --to core: take the scripts of this block and of those before it as valid
    #[arg(long, value_name = "HASH")]
    pub assume_valid: Option<String>,
    /// --to core: MiB of memory for coins
    #[arg(long, default_value_t = CACHE_MIB, value_name = "MIB")]
    #[arg(value_parser = value_parser!(u64).range(CACHES_MIB))]
    pub cache: u64,
    /// --to core: copy all blocks, even where block files could be linked to
    #[arg(long)]
    pub copy: bool,
    /// --to blk: obfuscate the files with a random key, as Bitcoin Core does
    #[arg(long)]
    pub xor: bool,
    #[command(flatten)]
    pub outputs: Outputs,
}

#[derive(Debug, Subcommand)]
pub enum Generate {
    /// A chain of headers that obeys every rule of the main network but the seal
    Ethereum(GenerateEthereum),
    /// A regtest chain with signed spends of every kind, in block files; Bitcoin Core accepts it
    Bitcoin(GenerateBitcoin),
    /// A private network of Neo N3: a block dump and its configuration, in a folder; neo-go
    /// accepts it
    Neo(GenerateNeo),
}

/// Depths of verification, and what each is.
fn levels() -> impl TypedValueParser<Value = Level> {
    let level = |level: Level| {
        PossibleValue::new(level.name()).help(match level {
            Level::Headers => "Linkage, every header rule, seals",
            Level::Bodies => {
                "Headers, and transactions, ommers, withdrawals and receipts against their roots; \
                 Ethereum: every transaction's rules and its sender"
            }
            Level::Execution => {
                "Bodies, and what they do: coins, amounts, scripts (Bitcoin); the state, and every \
                 root of it (Ethereum, from genesis or from a stored state on)"
            }
        })
    };
    let values = PossibleValuesParser::new(Level::ALL.map(level));
    values.try_map(|name| Level::named(&name).ok_or("no level"))
}

/// Formats that blockmill writes: those of the table of formats.
fn target() -> impl TypedValueParser<Value = &'static Target> {
    let values = Target::all().map(|target| PossibleValue::new(target.name).help(target.help));
    PossibleValuesParser::new(values).try_map(|name| Target::by_name(&name).ok_or("no format"))
}

/// What archives may be given, for the help.
fn archives() -> String {
    let nouns: Vec<_> = format::all().map(|format| format.noun).collect();
    let compressions = Compression::ALL.map(Compression::name).join(", ");
    format!(
        "Archives: files or folders ({}), files also compressed ({compressions}); - is standard \
         input",
        nouns.join(", ")
    )
}
