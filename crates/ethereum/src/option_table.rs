//! Every optimisation of the import, as a named option (see [`blockmill_pipeline::options`]).

use crate::durable::LogValues;
use crate::execute::{evm::MachineKeccak, evm::MachineOptions, speculation::Speculate};
use crate::state::{DiskOptions, FlatStore, HAS_ROCKSDB, RocksDbOptions, StateKind, TrieHashers};
use blockmill_hashes::ManyKeccak;
pub use blockmill_pipeline::options::NamedOption;
use blockmill_pipeline::options::{self, Feature, Rung, Table};
use blockmill_signatures::Signatures;
use blockmill_state_store::ReadAhead;

/// What is there in some builds of the program only.
const ROCKSDB: Feature = Feature { name: "rocksdb", is_built: HAS_ROCKSDB };

/// The options, in the order of the ladder. Those of signatures need bodies to act on.
pub const OPTIONS: [NamedOption; 27] = [
    NamedOption::new(
        "hash",
        &["single", "multi"],
        "hash headers, and what transactions sign, one by one or several at once in vector lanes",
    ),
    NamedOption::new(
        "sender-batches",
        &["block", "chunk"],
        "recover the senders of one block or of a whole chunk of blocks in one go",
    ),
    NamedOption::new(
        "signatures",
        &["scalar", "avx2", "ifma"],
        "recover senders one by one or in the lanes of vector registers",
    )
    .only_where(|value| Signatures::named(value).is_some()),
    NamedOption::new(
        "senders",
        &["inline", "ahead"],
        "check bodies and recover senders on the thread that executes, or ahead of it on any",
    ),
    NamedOption::new(
        "state",
        &["flat+trie", "pages", "memory"],
        "keep the state in tables of values and of nodes by path, in pages, or in memory",
    ),
    NamedOption::new(
        "prefetch",
        &["off", "runs", "access", "history", "dry-runs"],
        "state on disk: read when asked; first what blocks name, runs read, calls or dry runs tell",
    ),
    NamedOption::new(
        "trie-preload",
        &["on", "off"],
        "state=flat+trie: read nodes with the values that they lead to, or when a root needs them",
    ),
    NamedOption::new(
        "flat-store",
        &["rocksdb", "tables"],
        "state=flat+trie: keep values and nodes in RocksDB, as Besu does, or in our own tables",
    )
    .but_last_needs(ROCKSDB),
    NamedOption::new(
        "read-checksum",
        &["off", "on"],
        "flat-store=rocksdb: do not hold blocks that are read to their sums (Besu PR 5042), or do",
    )
    .but_last_needs(ROCKSDB),
    NamedOption::new(
        "bloom",
        &["off", "on"],
        "flat-store=rocksdb: filters that answer for absent keys, none or 10 bits (Besu PR 4682)",
    )
    .but_last_needs(ROCKSDB),
    NamedOption::new(
        "block-cache",
        &["off", "on"],
        "flat-store=rocksdb: read blocks again each time, or keep those that were read in memory",
    )
    .but_last_needs(ROCKSDB),
    NamedOption::new(
        "read-ahead",
        &["off", "threads", "io_uring"],
        "state=pages: reads that are known together one by one, by threads or by the kernel",
    ),
    NamedOption::new(
        "page-cache",
        &["off", "on"],
        "state=pages: read pages again each time, or keep those that were read in memory",
    ),
    NamedOption::new(
        "references",
        &["cache", "memory"],
        "state=pages: keep references of pages within the memory for caches, or all besides it",
    ),
    NamedOption::new(
        "commit",
        &["serial", "parallel"],
        "state=pages: hash what a large block changed on one thread, or on all of them",
    ),
    NamedOption::new(
        "state-trie",
        &["pointers", "arena"],
        "change the tries of the state key by key, or all keys of a block together in one arena",
    ),
    NamedOption::new(
        "key-hash",
        &["single", "lanes"],
        "hash addresses and slots to keys of tries one by one or several at once in vector lanes",
    ),
    NamedOption::new(
        "trie-hash",
        &["single", "lanes"],
        "hash the nodes of tries one by one or several at once in vector lanes",
    ),
    NamedOption::new(
        "root",
        &["inline", "pipelined"],
        "make state roots on the thread that executes, or behind it on another",
    ),
    NamedOption::new(
        "root-every",
        &["64", "8", "1"],
        "compare the state root of every 64th, of every 8th or of each block (on disk: of each)",
    ),
    NamedOption::new(
        "root-group",
        &["1", "8"],
        "hash the tries of one block, or those of so many small blocks together (in memory)",
    ),
    NamedOption::new(
        "receipts",
        &["inline", "ahead"],
        "make receipts on the thread that makes the roots, or on any while it goes ahead",
    ),
    NamedOption::new(
        "evm-keccak",
        &["revm", "ours", "lanes"],
        "the hash of KECCAK256: the virtual machine's library's, ours, or ours of several at once",
    ),
    NamedOption::new(
        "journal",
        &["transaction", "block"],
        "take over what transactions change one by one, or all of a block together",
    ),
    NamedOption::new(
        "speculate",
        &["off", "all", "heavy"],
        "execute no transaction before its turn, all, or those of much gas, while a core is idle",
    ),
    NamedOption::new(
        "log",
        &["off", "redo", "redo+undo"],
        "keep what each block changes: nothing, new values, or old ones too for the way back",
    ),
    NamedOption::new(
        "stages",
        &["serial", "overlapped"],
        "read, verify and write one after the other or at the same time",
    ),
];

/// The setting in which each option has its first value. The ladder of `bench headers` is in the
/// benchmark crate.
pub const RUNGS: [Rung; 1] = [("plainest", &[])];

/// A setting of all options.
pub type Setting = options::Setting<Ethereum>;

/// The table of this chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethereum;

impl Table for Ethereum {
    const OPTIONS: &'static [NamedOption] = &OPTIONS;
    const RUNGS: &'static [Rung] = &RUNGS;
    type Plan = Plan;

    fn plan(setting: &Setting) -> Plan {
        let signatures = setting.get("signatures").and_then(Signatures::named);
        Plan {
            multi_hash: setting.is("hash", "multi"),
            senders_per_chunk: setting.is("sender-batches", "chunk"),
            signatures: signatures.unwrap_or_else(Signatures::scalar),
            senders_inline: setting.is("senders", "inline"),
            state: StateKind::ALL
                .into_iter()
                .find(|kind| setting.is("state", kind.name()))
                .unwrap_or_default(),
            prefetch: !setting.is("prefetch", "off"),
            history: setting.is("prefetch", "history") || setting.is("prefetch", "dry-runs"),
            dry_runs: setting.is("prefetch", "dry-runs"),
            read_ahead: match setting.get("read-ahead") {
                Some("off") => ReadAhead::Off,
                Some("threads") => ReadAhead::Threads,
                _ => ReadAhead::Ring,
            },
            page_cache: setting.is("page-cache", "on"),
            trie_preload: setting.is("trie-preload", "on"),
            all_references: setting.is("references", "memory"),
            flat_store: FlatStore::available()
                .find(|kept| setting.is("flat-store", kept.name()))
                .unwrap_or_default(),
            rocksdb: rocksdb(setting),
            commit_parallel: setting.is("commit", "parallel"),
            arena_tries: setting.is("state-trie", "arena"),
            trie_hashers: TrieHashers {
                keys: hasher(setting.is("key-hash", "lanes")),
                nodes: hasher(setting.is("trie-hash", "lanes")),
            },
            root_inline: setting.is("root", "inline"),
            receipts_inline: setting.is("receipts", "inline"),
            root_every: setting.get("root-every").and_then(|every| every.parse().ok()).unwrap_or(1),
            root_group: if setting.is("root-group", "8") { 8 } else { 1 },
            machine: MachineOptions {
                keccak: match setting.get("evm-keccak") {
                    Some("revm") => MachineKeccak::Library,
                    Some("ours") => MachineKeccak::Single,
                    _ => MachineKeccak::Lanes,
                },
                journal_of_block: setting.is("journal", "block"),
                keeps_reads: setting.is("prefetch", "runs"),
            },
            speculate: match setting.get("speculate") {
                Some("off") => Speculate::Off,
                Some("all") => Speculate::All,
                _ => Speculate::Heavy,
            },
            log: match setting.get("log") {
                Some("off") => LogValues::None,
                Some("redo") => LogValues::New,
                _ => LogValues::Both,
            },
            overlapped: setting.is("stages", "overlapped"),
        }
    }
}

/// What RocksDB does, where a state is in it.
fn rocksdb(setting: &Setting) -> RocksDbOptions {
    RocksDbOptions {
        read_checksum: setting.is("read-checksum", "on"),
        bloom: setting.is("bloom", "on"),
        block_cache: setting.is("block-cache", "on"),
    }
}

/// Several messages at once, or one.
fn hasher(lanes: bool) -> ManyKeccak {
    if lanes { ManyKeccak::detect() } else { ManyKeccak::scalar() }
}

/// [`Setting`] as the stages read them.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub multi_hash: bool,
    pub senders_per_chunk: bool,
    pub signatures: Signatures,
    pub senders_inline: bool,
    pub state: StateKind,
    pub prefetch: bool,
    pub history: bool,
    pub dry_runs: bool,
    pub read_ahead: ReadAhead,
    pub page_cache: bool,
    pub trie_preload: bool,
    pub all_references: bool,
    pub flat_store: FlatStore,
    pub rocksdb: RocksDbOptions,
    pub commit_parallel: bool,
    pub arena_tries: bool,
    pub trie_hashers: TrieHashers,
    pub root_inline: bool,
    pub receipts_inline: bool,
    pub root_every: usize,
    pub root_group: usize,
    pub machine: MachineOptions,
    pub speculate: Speculate,
    pub log: LogValues,
    pub overlapped: bool,
}

impl Plan {
    /// How a state on disk is opened within so many bytes, for a run of so many threads.
    #[must_use]
    pub fn disk(&self, memory_bytes: usize, threads: usize) -> DiskOptions {
        DiskOptions {
            memory_bytes,
            read_ahead: self.read_ahead,
            page_cache: self.page_cache,
            all_references: self.all_references,
            trie_preload: self.trie_preload,
            flat_store: self.flat_store,
            rocksdb: self.rocksdb,
            threads: if self.commit_parallel { threads } else { 1 },
            salvages: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plainest_setting_has_the_first_value_of_each_option() {
        let plainest = Setting::rung("plainest").unwrap();
        for option in &OPTIONS {
            assert_eq!(plainest.get(option.name), option.available().next(), "{}", option.name);
        }
        assert_eq!(Setting::rungs().last(), Some(("blockmill", Setting::default())));
    }

    #[test]
    fn a_plan_names_what_runs() {
        let rung = |name| Setting::rung(name).unwrap().plan();
        let (slowest, fastest) = (rung("plainest"), rung("blockmill"));
        assert!(!slowest.senders_per_chunk && !slowest.overlapped && !slowest.multi_hash);
        assert!(fastest.senders_per_chunk && fastest.overlapped && fastest.multi_hash);
        for (option, value, setting) in Setting::default().neighbours() {
            if option.name == "signatures" {
                assert_eq!(setting.plan().signatures.variant().name(), value);
            }
        }
        let detected = Signatures::detect().variant().name();
        assert_eq!(Setting::default().get("signatures"), Some(detected));
        assert_eq!(fastest.signatures.variant().name(), detected);
    }
}
