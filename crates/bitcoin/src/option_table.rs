//! Every optimisation of the reindex, as a named option (see [`blockmill_pipeline::options`]).

use crate::script::Scripts;
pub use blockmill_pipeline::options::NamedOption;
use blockmill_pipeline::options::{self, Rung, Table};
use blockmill_signatures::Signatures;

/// The options, in the order of the ladder.
pub const OPTIONS: [NamedOption; 9] = [
    NamedOption::new(
        "first-read",
        &["block", "header"],
        "read and decode a whole block or only its header before its parent is looked up \
               (Bitcoin Core PR 16981)",
    ),
    NamedOption::new(
        "look-back",
        &["0", "8M", "32M", "640M"],
        "keep so much of what was read last, so that blocks whose parents come late are not \
               read again; with accept=block scan=serial (Bitcoin Core PR 16981, first version)",
    ),
    NamedOption::new(
        "accept",
        &["block", "header"],
        "decode each block of pass 1 once its parent is known, as Bitcoin Core does, or \
               leave bodies to pass 2",
    ),
    NamedOption::new(
        "read",
        &["stream", "map", "positioned"],
        "find records by reading all bytes, in a memory map, or by reads of frame and header",
    ),
    NamedOption::new(
        "scan",
        &["serial", "parallel"],
        "go over the files one after the other or several at once",
    ),
    NamedOption::new(
        "coins",
        &["when-spent", "sum", "fetched"],
        "look coins on disk up when they are spent, or ahead of that and in parallel; or, of a \
               datadir, take them from undo data and prove them by a sum over all coins",
    ),
    NamedOption::new(
        "scripts",
        &["library", "templates"],
        "run each script in the library, or reduce standard forms to their signatures",
    ),
    NamedOption::new(
        "signatures",
        &["scalar", "avx2", "ifma"],
        "verify signatures one by one or in the lanes of vector registers",
    )
    .only_where(|value| Signatures::named(value).is_some()),
    NamedOption::new(
        "stages",
        &["serial", "overlapped"],
        "read, prepare, connect and check one after the other or at the same time",
    ),
];

/// The rungs of the ladder, and what each changes in the one before it.
pub const RUNGS: [Rung; 7] = [
    ("master", &[]),
    ("16981", &[("first-read", "header")]),
    ("16981-8M", &[("look-back", "8M")]),
    ("16981-32M", &[("look-back", "32M")]),
    ("16981-640M", &[("look-back", "640M")]),
    ("headers", &[("accept", "header")]),
    ("frames", &[("read", "positioned")]),
];

/// A setting of all options.
pub type Setting = options::Setting<Bitcoin>;

/// The table of this chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitcoin;

impl Table for Bitcoin {
    const OPTIONS: &'static [NamedOption] = &OPTIONS;
    const RUNGS: &'static [Rung] = &RUNGS;
    type Plan = Plan;

    fn plan(setting: &Setting) -> Plan {
        let signatures = setting.get("signatures").and_then(Signatures::named);
        Plan {
            whole_block_first: setting.is("first-read", "block"),
            look_back: match setting.get("look-back") {
                Some("8M") => 8 << 20,
                Some("32M") => 32 << 20,
                Some("640M") => 640 << 20,
                _ => 0,
            },
            accept_blocks: setting.is("accept", "block"),
            read: match setting.get("read") {
                Some("stream") => Read::Stream,
                Some("map") => Read::Map,
                _ => Read::Positioned,
            },
            parallel: setting.is("scan", "parallel"),
            fetches: !setting.is("coins", "when-spent"),
            sum: setting.is("coins", "sum"),
            scripts: match setting.is("scripts", "library") {
                true => Scripts::Library,
                false => Scripts::Templates,
            },
            signatures: signatures.unwrap_or_else(Signatures::scalar),
            overlapped: setting.is("stages", "overlapped"),
        }
    }
}

/// [`Setting`] as the two passes read them.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Each block is read and decoded when it is found, not only its header.
    pub whole_block_first: bool,
    /// Bytes of blocks that are kept for when their parents turn up.
    pub look_back: usize,
    /// Each block is decoded when its parent is known.
    pub accept_blocks: bool,
    /// Where the bytes come from.
    pub read: Read,
    /// Several files at once?
    pub parallel: bool,
    /// Coins on disk are looked up before their turn.
    pub fetches: bool,
    /// Coins come from undo data, and a sum proves them, where there are both.
    pub sum: bool,
    /// Who verifies scripts.
    pub scripts: Scripts,
    /// How their signatures are verified.
    pub signatures: Signatures,
    /// The phases of pass 2 run at the same time.
    pub overlapped: bool,
}

/// How files are read in pass 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Everything, one large piece after the other.
    Stream,
    /// Frames and headers in a memory map.
    Map,
    /// Frames and headers, each by a positioned read.
    Positioned,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_climb_from_the_slowest_to_the_default() {
        let index = |option: &NamedOption, setting: &Setting| {
            let value = setting.get(option.name);
            option.values.iter().position(|known| Some(*known) == value).unwrap()
        };
        let rungs: Vec<_> = Setting::rungs().collect();
        assert!(OPTIONS.iter().all(|option| index(option, &rungs[0].1) == 0));
        for pair in rungs.windows(2) {
            let (before, after) = (&pair[0].1, &pair[1].1);
            let is_up = |option: &NamedOption| index(option, before) <= index(option, after);
            assert!(OPTIONS.iter().all(is_up) && before != after, "{pair:?}");
        }
        for ((name, changes), (rung, setting)) in RUNGS.iter().zip(&rungs) {
            assert!(name == rung && changes.iter().all(|(option, to)| setting.is(option, to)));
        }
        assert_eq!(rungs.last(), Some(&("blockmill", Setting::default())));
        assert_eq!(Setting::rung("16982"), None);
    }

    #[test]
    fn a_plan_names_what_runs() {
        let plan = Setting::rung("master").unwrap().plan();
        assert!(plan.whole_block_first && plan.accept_blocks && plan.look_back == 0);
        assert!(!plan.parallel && !plan.fetches && !plan.overlapped);
        assert_eq!((plan.read, plan.scripts), (Read::Stream, Scripts::Library));
        let plan = Setting::default().plan();
        assert!(!plan.whole_block_first && !plan.accept_blocks && plan.look_back == 640 << 20);
        assert!(plan.parallel && plan.fetches && plan.overlapped);
        assert_eq!((plan.read, plan.scripts), (Read::Positioned, Scripts::Templates));
        let detected = Signatures::detect().variant().name();
        assert_eq!(Setting::default().get("signatures"), Some(detected));
        assert_eq!(plan.signatures.variant().name(), detected);
        for (option, value, setting) in Setting::default().neighbours() {
            if option.name == "signatures" {
                assert_eq!(setting.plan().signatures.variant().name(), value);
            }
        }
    }
}
