//! Flags of everything that verifies an archive.

use super::{
    BITCOIN_NEO, CACHE_MIB, CACHES_MIB, CHUNK, COMMIT_EVERY_S, COMMITS_S, ETHEREUM, Force, Remote,
    chunk, threads,
};
use crate::remote::Mounted;
use blockmill_archive::{Compression, format};
use blockmill_verdict::Level;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use std::net::SocketAddr;
use std::path::PathBuf;

/// What and how to verify; the same for `import` and `verify`.
#[derive(Args, Clone, Debug)]
pub struct Verification {
    #[arg(required = true, value_name = "PATH", help = archives(&[]))]
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
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub checksums: Option<PathBuf>,
    #[command(flatten)]
    pub remote: Remote,
    /// The files at the URLs among the paths, where a program has no command line.
    #[arg(skip)]
    #[allow(dead_code, reason = "they are there until the arguments are dropped")]
    pub mounted: Mounted,
    /// Seals to check (work, validators): off, all, 1/N [default: verify: all; import: 1/100]
    #[arg(long, value_name = "SAMPLE", help_heading = ETHEREUM)]
    pub seal: Option<String>,
    /// Seed of the sample [default: random, and printed]
    #[arg(long, value_name = "N", help_heading = ETHEREUM, hide_short_help = true)]
    pub seal_seed: Option<u64>,
    /// Ethereum, Bitcoin: take this for the time, in seconds since 1970: blocks from beyond it are
    /// refused [default: the clock]
    #[arg(long, value_name = "SECONDS", hide_short_help = true)]
    pub now: Option<u64>,
    /// Keep ethash caches in this folder, and use those of earlier runs
    #[arg(long, value_name = "DIR", help_heading = ETHEREUM, hide_short_help = true)]
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
    #[arg(long, value_name = "HASH", help_heading = ETHEREUM, hide_short_help = true)]
    pub trust: Vec<String>,
    /// Of ere files with proofs from after the merge: compare these proofs with the roots of the
    /// beacon chain in an era file, a folder of them, or a text with a root in each line
    #[arg(long, value_name = "PATH", help_heading = ETHEREUM, hide_short_help = true)]
    pub beacon_roots: Option<PathBuf>,
    /// Set an option, such as hash=single (may be repeated; see docs/reference/options.md)
    #[arg(long = "with", value_name = "NAME=VALUE", hide_short_help = true)]
    pub with: Vec<String>,
    /// Threads that verify [default: one for each core, and one more with a state on disk]
    #[arg(long, value_name = "N", value_parser = threads(), hide_short_help = true)]
    pub threads: Option<usize>,
    /// Headers in a chunk; Neo: blocks, at most 512
    #[arg(long, default_value_t = CHUNK, value_name = "N", value_parser = chunk())]
    #[arg(hide_short_help = true)]
    pub chunk: usize,
    /// Take the scripts or witnesses of this block and of those before it as valid
    #[arg(long, value_name = "HASH", help_heading = BITCOIN_NEO)]
    pub assume_valid: Option<String>,
    /// Bitcoin: MiB of memory for coins; the tree of headers takes 200 bytes a block next to it.
    /// Neo: MiB for blocks and changes of the state before they are committed, at most 32.
    /// Ethereum: of an import with its state on disk, MiB for changes and caches of the state
    #[arg(long, default_value_t = CACHE_MIB, value_name = "MIB")]
    #[arg(value_parser = value_parser!(u64).range(CACHES_MIB), hide_short_help = true)]
    pub cache: u64,
    /// The most seconds between two commits of what is verified
    #[arg(long, default_value_t = COMMIT_EVERY_S, value_name = "SECONDS")]
    #[arg(value_parser = value_parser!(u64).range(COMMITS_S), help_heading = BITCOIN_NEO)]
    #[arg(hide_short_help = true)]
    pub commit_every: u64,
    /// Name of the run in tables and charts [default: import or verify]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub label: Option<String>,
    /// Show the run at this address while it is in progress, as a page and as Prometheus metrics
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    #[arg(default_missing_value = "127.0.0.1:9333")]
    pub serve: Option<SocketAddr>,
    /// Write the run record here [import: default DATA/records/]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub record: Option<PathBuf>,
    /// Sample where CPU time goes: the page of the record has a flame graph (Linux)
    #[arg(long, hide_short_help = true)]
    pub profile: bool,
    #[command(flatten)]
    pub force: Force,
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

/// What archives may be given, for the help of a command that does not read all formats.
pub fn archives(refused: &[&str]) -> String {
    let formats = format::all().filter(|format| !refused.contains(&format.name));
    let nouns: Vec<_> = formats.map(|format| format.noun).collect();
    let compressions = Compression::ALL.map(Compression::name).join(", ");
    format!(
        "Archives: files or folders ({}), files also compressed ({compressions}); - is standard \
         input",
        nouns.join(", ")
    )
}
