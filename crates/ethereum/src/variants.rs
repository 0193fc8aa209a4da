//! Every optimisation of the import, as a named switch (see [`pipeline::switches`]).

use crypto::Signatures;
pub use pipeline::switches::Switch;
use pipeline::switches::{self, Rung, Table};

/// The switches, in the order of the ladder. Those of signatures need bodies to act on.
pub const SWITCHES: [Switch; 12] = [
    Switch::new(
        "write",
        &["per-header", "batch"],
        "store headers one by one or a chunk at a time (go-ethereum PR 21471)",
    ),
    Switch::new(
        "known-check",
        &["on", "off"],
        "look each header up in the store before it is written (headerimport mod1)",
    ),
    Switch::new(
        "linkage-check",
        &["twice", "once"],
        "check parent hash and number again before writing (headerimport mod2)",
    ),
    Switch::new(
        "stop-check",
        &["per-header", "per-chunk"],
        "ask for a stop request at each header or at each chunk (headerimport mod3)",
    ),
    Switch::new(
        "clock",
        &["per-header", "per-chunk"],
        "read the clock at each header or at each chunk (headerimport mod4)",
    ),
    Switch::new(
        "difficulty",
        &["bigint", "u256"],
        "difficulty in big or in 256-bit integers (headerimport mod5, go-ethereum PR 21976)",
    ),
    Switch::new(
        "hash",
        &["single", "multi"],
        "hash headers, and what transactions sign, one by one or several at once in vector lanes",
    ),
    Switch::new(
        "decode",
        &["owned", "in-place"],
        "copy header fields into owned values or read them where they stand",
    ),
    Switch::new(
        "storage",
        &["table", "segment"],
        "store headers in a table of keys and values or in append-only segments",
    ),
    Switch::new(
        "sender-batches",
        &["block", "chunk"],
        "recover the senders of one block or of a whole chunk of blocks in one go",
    ),
    Switch::new(
        "signatures",
        &["scalar", "avx2", "ifma"],
        "recover senders one by one or in the lanes of vector registers",
    )
    .only_where(|value| Signatures::named(value).is_some()),
    Switch::new(
        "stages",
        &["serial", "overlapped"],
        "read, verify and write one after the other or at the same time",
    ),
];

/// The rungs of the ladder, and what each changes in the one before it.
pub const RUNGS: [Rung; 7] = [
    ("master", &[]),
    ("21471", &[("write", "batch")]),
    ("mod1", &[("known-check", "off")]),
    ("mod2", &[("linkage-check", "once")]),
    ("mod3", &[("stop-check", "per-chunk")]),
    ("mod4", &[("clock", "per-chunk")]),
    ("mod5", &[("difficulty", "u256")]),
];

/// Switches of how headers are stored, which only `bench headers` turns: an import stores them in
/// one way.
pub const OF_BENCHMARKS: [&str; 6] =
    ["write", "known-check", "linkage-check", "stop-check", "clock", "storage"];

/// A setting of all switches.
pub type Variants = switches::Variants<Ethereum>;

/// The table of this chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethereum;

impl Table for Ethereum {
    const SWITCHES: &'static [Switch] = &SWITCHES;
    const RUNGS: &'static [Rung] = &RUNGS;
    type Plan = Plan;

    fn plan(variants: &Variants) -> Plan {
        let signatures = variants.get("signatures").and_then(Signatures::named);
        Plan {
            batch_write: variants.is("write", "batch"),
            known_check: variants.is("known-check", "on"),
            linkage_twice: variants.is("linkage-check", "twice"),
            stop_check_per_header: variants.is("stop-check", "per-header"),
            clock_per_header: variants.is("clock", "per-header"),
            bigint_difficulty: variants.is("difficulty", "bigint"),
            multi_hash: variants.is("hash", "multi"),
            decode_in_place: variants.is("decode", "in-place"),
            segment_storage: variants.is("storage", "segment"),
            senders_per_chunk: variants.is("sender-batches", "chunk"),
            signatures: signatures.unwrap_or_else(Signatures::scalar),
            overlapped: variants.is("stages", "overlapped"),
        }
    }
}

/// [`Variants`] as the stages read them.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub batch_write: bool,
    pub known_check: bool,
    pub linkage_twice: bool,
    pub stop_check_per_header: bool,
    pub clock_per_header: bool,
    pub bigint_difficulty: bool,
    pub multi_hash: bool,
    pub decode_in_place: bool,
    pub segment_storage: bool,
    pub senders_per_chunk: bool,
    pub signatures: Signatures,
    pub overlapped: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_climb_one_switch_at_a_time() {
        for (above, (_, variants)) in Variants::rungs().take(RUNGS.len()).enumerate() {
            let fast = |switch: &&Switch| variants.get(switch.name) != Some(switch.values[0]);
            let fast: Vec<_> = SWITCHES.iter().filter(fast).map(|switch| switch.name).collect();
            let expected: Vec<_> = SWITCHES[..above].iter().map(|switch| switch.name).collect();
            assert_eq!(fast, expected);
        }
        assert_eq!(Variants::rungs().last(), Some(("blockmill", Variants::default())));
        assert_eq!(Variants::rung("mod6"), None);
    }

    #[test]
    fn a_plan_names_what_runs() {
        let rung = |name| Variants::rung(name).unwrap().plan();
        let (slowest, fastest) = (rung("master"), rung("blockmill"));
        assert!(!slowest.batch_write && slowest.bigint_difficulty && slowest.known_check);
        assert!(!slowest.senders_per_chunk && !slowest.overlapped && !slowest.multi_hash);
        assert!(fastest.batch_write && !fastest.bigint_difficulty && !fastest.known_check);
        assert!(fastest.senders_per_chunk && fastest.overlapped && fastest.multi_hash);
        for (switch, value, variants) in Variants::default().neighbours() {
            if switch.name == "signatures" {
                assert_eq!(variants.plan().signatures.variant().name(), value);
            }
        }
        let detected = Signatures::detect().variant().name();
        assert_eq!(Variants::default().get("signatures"), Some(detected));
        assert_eq!(fastest.signatures.variant().name(), detected);
    }
}
