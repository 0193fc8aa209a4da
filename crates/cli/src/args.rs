//! The command line: verbs, flags and their help.

pub mod bench;
mod check;
mod execution;
mod export;
mod generate;
mod groups;
mod inspect;
mod outputs;
mod remote;
mod report;
mod verification;

use blockmill_archive::Target;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, value_parser};
use std::ffi::OsString;
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
pub use verification::Verification;
use verification::archives;

/// Imports raw blockchain archives at hardware speed, verifies them, and shows where the time went.
#[derive(Debug, Parser)]
#[command(name = "blockmill", version, about, max_term_width = 100)]
#[command(args_override_self = true, propagate_version = true)]
#[command(help_template = groups::template())]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How every command is run.
    #[command(flatten)]
    pub general: General,
}

/// The command line as completions and the manual have it: with the flags of `bench`, and the names
/// of what it measures.
pub fn documented() -> clap::Command {
    Cli::command().mut_subcommand("bench", |bench| {
        let about = bench.get_about().cloned().unwrap_or_default();
        let flags = bench::Bench::augment_args(clap::Command::new("bench"));
        bench::with_names(flags).about(about)
    })
}

/// The default of `--color`.
pub const AUTO: &str = "auto";

/// The flags that every command has.
#[derive(Args, Clone, Debug, Default)]
pub struct General {
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Print also what was found and measured, and the thread time of the stages
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// Print nothing but errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Colour text: auto (where a terminal shows it), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = AUTO)]
    #[arg(hide_short_help = true, hide_possible_values = true, hide_default_value = true)]
    #[arg(value_parser = [AUTO, "always", "never"])]
    pub color: String,
    /// Read flags from this file [default: blockmill.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Also append everything that is printed to this file, with the time of each line
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
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

/// Headings of options that only some chains have.
const ETHEREUM: &str = "Ethereum";
const NEO: &str = "Neo";
const BITCOIN_NEO: &str = "Bitcoin and Neo";

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

impl Command {
    /// What the command does until it says more, if a user may have to wait for it.
    pub fn waits(&self) -> Option<&'static str> {
        Some(match self {
            Self::Import(_) => "import",
            Self::Verify(_) => "verify",
            Self::Inspect(_) => "inspect",
            Self::Check(_) => "check",
            Self::Unwind(_) => "unwind",
            Self::Witness(_) => "witness",
            Self::Heal(_) => "heal",
            Self::Prove(_) => "prove",
            Self::Test(_) => "test",
            Self::Convert(_) => "convert",
            Self::Export(_) => "export",
            Self::Generate(_) => "generate",
            Self::Report(_) => "report",
            Self::Bench { .. }
            | Self::Serve(_)
            | Self::Demo(_)
            | Self::Completions { .. }
            | Self::Man { .. } => return None,
        })
    }
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("paths", |paths| paths.required(false).required_unless_present("state")
    .help(archives(&["btc-headers"]))))]
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
    /// Begin with the state of this dump, as `geth dump --iterative` and `geth snapshot dump` write
    /// it, compressed or not. It is that after the store's last block
    #[arg(long, value_name = "DUMP", conflicts_with = "paths", help_heading = ETHEREUM)]
    #[arg(hide_short_help = true)]
    pub state: Option<PathBuf>,
    /// --state: store the blocks of this archive first, the last one that of the dump; --from and
    /// --until choose among them
    #[arg(long, value_name = "PATH", requires = "state", help_heading = ETHEREUM)]
    #[arg(hide_short_help = true)]
    pub block: Vec<PathBuf>,
    /// Level execution: keep the state as of every block, not only of the last one
    #[arg(long, help_heading = NEO)]
    pub history: bool,
    /// Ethereum and Neo, level execution: blocks that `unwind` can take back at least
    #[arg(long, default_value_t = 10_000, value_name = "BLOCKS")]
    #[arg(value_parser = value_parser!(u64).range(1..), hide_short_help = true)]
    pub unwind_depth: u64,
}

#[derive(Args, Clone, Debug)]
pub struct Verify {
    #[command(flatten)]
    pub verification: Verification,
    /// Verify the archive as a shard of a longer chain, and print its summary. Bitcoin block
    /// files: print their headers; unspent coins (DATADIR/chainstate): print the list of files
    #[arg(long, hide_short_help = true)]
    pub shard: bool,
    /// --shard: the summary of all earlier blocks; Bitcoin: the table of the bodies to verify
    #[arg(long, value_name = "FILE", requires = "shard", hide_short_help = true)]
    pub after: Option<PathBuf>,
    /// Merge the summaries of shards (the paths), and print the summary of all; Bitcoin: print
    /// tables of the bodies to verify, or the verdict
    #[arg(long, conflicts_with = "shard", hide_short_help = true)]
    pub merge: bool,
    /// --merge of Bitcoin shards: the archive that they are parts of, a folder or a file; reports
    /// what it lacks, as verify PATH does (may be repeated) [default: the files of the shards]
    #[arg(long, value_name = "PATH", requires = "merge", hide_short_help = true)]
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

/// Formats that blockmill writes: those of the table of formats.
fn target() -> impl TypedValueParser<Value = &'static Target> {
    let values = Target::all().map(|target| PossibleValue::new(target.name).help(target.help));
    PossibleValuesParser::new(values).try_map(|name| Target::by_name(&name).ok_or("no format"))
}
