//! Every optimisation of the restore, as a named option (see [`blockmill_pipeline::options`]).

use blockmill_hashes::ManySha256;
pub use blockmill_pipeline::options::NamedOption;
use blockmill_pipeline::options::{self, Rung, Table};
use blockmill_signatures::Signatures;

/// Bytes for tables of public keys: some 480 keys. An import stays within what neo-go takes.
const KEY_TABLES: usize = 40 << 20;

/// The options, in the order of the ladder.
pub const OPTIONS: [NamedOption; 10] = [
    NamedOption::new(
        "hashes",
        &["single", "lanes"],
        "hash transactions, headers and merkle trees one by one or in the lanes of vector \
         registers",
    ),
    NamedOption::new(
        "signatures",
        &["scalar", "avx2", "ifma"],
        "verify signatures one by one or in the lanes of vector registers",
    )
    .only_where(|value| Signatures::named(value).is_some()),
    NamedOption::new(
        "keys",
        &["anew", "tables"],
        "decode a public key for each signature, or keep tables of those that come again",
    ),
    NamedOption::new(
        "stages",
        &["serial", "overlapped"],
        "read, check and write one after the other or at the same time: witnesses of the next \
         blocks are verified ahead",
    ),
    NamedOption::new(
        "tasks",
        &["1", "2", "3"],
        "store blocks and transactions, and process results and transfers, with the execution, in \
         one task beside it, or in two (neo-go, commit 49be753850)",
    ),
    NamedOption::new(
        "caches",
        &["shared", "separate"],
        "these tasks put entries into one cache behind a lock, or each into its own, which the \
         commit joins (the same)",
    ),
    NamedOption::new(
        "roots",
        &["with", "behind"],
        "compute the state root of each block before the next one is executed, or those of many \
         blocks together, in a task behind the execution",
    ),
    NamedOption::new(
        "flush",
        &["barrier", "behind"],
        "execute no block while those before it are written out, or go on with the next ones",
    ),
    NamedOption::new(
        "log",
        &["off", "undo"],
        "keep of what each block replaces nothing, or the old values for the way back",
    ),
    NamedOption::new(
        "blocks",
        &["traceable", "all"],
        "remove blocks, logs and transfers that contracts and the way back need no more, or keep \
         all (neo-go, RemoveUntraceableBlocks)",
    ),
];

/// The rungs of the ladder, and what each changes in the one before it.
pub const RUNGS: [Rung; 3] = [
    ("one by one", &[("blocks", "all")]),
    ("two tasks", &[("stages", "overlapped"), ("tasks", "2"), ("caches", "separate")]),
    ("three tasks", &[("tasks", "3")]),
];

/// A setting of all options.
pub type Setting = options::Setting<Neo>;

/// The table of this chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neo;

impl Table for Neo {
    const OPTIONS: &'static [NamedOption] = &OPTIONS;
    const RUNGS: &'static [Rung] = &RUNGS;
    type Plan = Plan;

    fn plan(setting: &Setting) -> Plan {
        let signatures = setting.get("signatures").and_then(Signatures::named);
        Plan {
            hasher: match setting.is("hashes", "lanes") {
                true => ManySha256::detect(),
                false => ManySha256::scalar(),
            },
            signatures: signatures.unwrap_or_else(Signatures::scalar),
            key_tables: if setting.is("keys", "tables") { KEY_TABLES } else { 0 },
            overlapped: setting.is("stages", "overlapped"),
            tasks: match setting.get("tasks") {
                Some("1") => Tasks::One,
                Some("2") => Tasks::Two,
                _ => Tasks::Three,
            },
            separate_caches: setting.is("caches", "separate"),
            roots_behind: setting.is("roots", "behind"),
            flushes_behind: setting.is("flush", "behind"),
            undo: setting.is("log", "undo"),
            removes: setting.is("blocks", "traceable"),
        }
    }
}

/// [`Setting`] as the stages read it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How messages are hashed.
    pub hasher: ManySha256,
    /// How signatures are verified.
    pub signatures: Signatures,
    /// Bytes for tables of public keys.
    pub key_tables: usize,
    /// The stages run at the same time.
    pub overlapped: bool,
    /// How many tasks a block has at a time.
    pub tasks: Tasks,
    /// Each task has a cache of its own.
    pub separate_caches: bool,
    /// State roots are computed behind the execution, of many blocks together.
    pub roots_behind: bool,
    /// Blocks are executed while those before them are written out.
    pub flushes_behind: bool,
    /// What blocks replace is kept, so that they can be taken back.
    pub undo: bool,
    /// Blocks that nobody can ask for any more are removed.
    pub removes: bool,
}

/// How many tasks a block has at a time, the execution included; state roots that are computed
/// behind it are one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// All in one.
    One,
    /// Execution; blocks and results.
    Two,
    /// Execution; blocks; results.
    Three,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rung_has_all_that_the_machine_has() {
        let plan = Setting::default().plan();
        assert!(plan.overlapped && plan.key_tables > 0);
        assert_eq!(plan.hasher.name(), ManySha256::detect().name());
        assert_eq!(plan.signatures.variant(), Signatures::detect().variant());
        let plan = Setting::rung("one by one").unwrap().plan();
        assert!(!plan.overlapped && plan.key_tables == 0);
        assert_eq!((plan.hasher.name(), plan.signatures.variant().name()), ("scalar", "scalar"));
    }
}
