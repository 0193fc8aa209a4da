//! Every optimisation of the reindex, as a named option (see [`blockmill_pipeline::options`]).

use crate::script::Scripts;
pub use blockmill_pipeline::options::NamedOption;
use blockmill_pipeline::options::{self, Rung, Table};
use blockmill_signatures::Signatures;

/// The options.
pub const OPTIONS: [NamedOption; 4] = [
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

/// A setting of all options.
pub type Setting = options::Setting<Bitcoin>;

/// The table of this chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitcoin;

impl Table for Bitcoin {
    const OPTIONS: &'static [NamedOption] = &OPTIONS;
    const RUNGS: &'static [Rung] = &[];
    type Plan = Plan;

    fn plan(setting: &Setting) -> Plan {
        let signatures = setting.get("signatures").and_then(Signatures::named);
        Plan {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_what_runs() {
        let names = OPTIONS.iter().map(|option| format!("{}={}", option.name, option.values[0]));
        let plan = Setting::default().with(&names.collect::<Vec<_>>()).unwrap().plan();
        assert!(!plan.fetches && !plan.overlapped);
        assert_eq!(plan.scripts, Scripts::Library);
        let plan = Setting::default().plan();
        assert!(plan.fetches && plan.overlapped);
        assert_eq!(plan.scripts, Scripts::Templates);
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
