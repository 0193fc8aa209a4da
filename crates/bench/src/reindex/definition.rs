//! What is measured: the definitions, by name.

use anyhow::{Error, bail};
use bitcoin::Level;
use bitcoin::option_table::NamedOption;
use std::str::FromStr;

/// One kind of data and of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    /// One block again and again, whose parent is nowhere: the benchmark of Bitcoin Core PR 16981.
    Pr,
    /// Large blocks, shuffled over the files; only their index.
    Index,
    /// Given blocks, shuffled in one file.
    Mainnet,
    /// A generated chain of signed spends, in order.
    Connect,
    /// The same, its scripts taken as valid.
    ConnectAssumed,
}

/// Switches that pass 1 reads; the others are those of pass 2.
const PASS_1: [&str; 5] = ["first-read", "look-back", "accept", "read", "scan"];

impl Definition {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] =
        [Self::Pr, Self::Index, Self::Mainnet, Self::Connect, Self::ConnectAssumed];

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pr => "pr",
            Self::Index => "index",
            Self::Mainnet => "mainnet",
            Self::Connect => "connect",
            Self::ConnectAssumed => "connect-assumed",
        }
    }

    /// How deep our runs go.
    pub fn level(self) -> Level {
        if self.climbs() { Level::Headers } else { Level::Execution }
    }

    /// Do the rungs of the ladder, which differ in pass 1, run on it?
    pub fn climbs(self) -> bool {
        matches!(self, Self::Pr | Self::Index)
    }

    /// Is a switch turned back on it?
    pub fn ablates(self, switch: &NamedOption) -> bool {
        let first_pass = PASS_1.contains(&switch.name);
        matches!((self, first_pass), (Self::Index, true) | (Self::Connect, false))
    }
}

impl FromStr for Definition {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match Self::ALL.into_iter().find(|definition| definition.name() == name) {
            Some(definition) => Ok(definition),
            None => bail!("expected {}, found {name}", Self::ALL.map(Self::name).join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitcoin::option_table::OPTIONS;

    #[test]
    fn every_switch_is_turned_back_on_one_definition() {
        for switch in &OPTIONS {
            let on = Definition::ALL.iter().filter(|definition| definition.ablates(switch));
            assert_eq!(on.count(), 1, "{}", switch.name);
        }
        for name in PASS_1 {
            assert!(OPTIONS.iter().any(|switch| switch.name == name), "{name}");
        }
    }

    #[test]
    fn names_lead_back() {
        for definition in Definition::ALL {
            assert_eq!(definition.name().parse::<Definition>().unwrap(), definition);
        }
        let error = "core".parse::<Definition>().unwrap_err().to_string();
        assert!(error.contains("pr, index, mainnet, connect, connect-assumed"), "{error}");
    }
}
