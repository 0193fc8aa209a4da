//! A network's settings as text, for storage with the data that depends on them, and for
//! comparison.

use super::{Hardfork, Protocol};
use crate::types::PublicKey;
use std::collections::BTreeMap;

/// SharedContext the parts of a line.
const TAB: char = '\t';
/// The value of an active hardfork.
const HOLDS: &str = "holds";

/// The settings of a network that blocks and states depend on: by name, values with their first
/// heights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration(BTreeMap<String, Vec<(u32, String)>>);

/// A setting that differs between two configurations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: expected {expected}, found {found}")]
pub struct Difference {
    /// The setting, as configurations name it.
    pub name: String,
    /// Its values in the first configuration.
    pub expected: String,
    /// Its values in the other one.
    pub found: String,
}

impl Protocol {
    /// The settings that blocks and states depend on. Settings of block proposal and of nodes are
    /// not included.
    #[must_use]
    pub fn configuration(&self) -> Configuration {
        let mut all = Configuration::default();
        all.set("Magic", self.magic);
        all.keys("StandbyCommittee", &self.standby_committee);
        for (name, sizes) in [
            ("CommitteeHistory", &self.committee_sizes),
            ("ValidatorsHistory", &self.validator_counts),
        ] {
            sizes.iter().for_each(|(height, size)| all.from(name, *height, size));
        }
        for hardfork in Hardfork::ALL {
            if let Some(height) = self.hardforks.height(hardfork) {
                all.from(&format!("Hardforks.{hardfork}"), height, HOLDS);
            }
        }
        all.set("InitialGASSupply", self.initial_gas);
        all.set("MaxBlockSystemFee", self.max_block_system_fee);
        all.set("MaxTraceableBlocks", self.max_traceable_blocks);
        all.set("MaxValidUntilBlockIncrement", self.max_valid_until_block_increment);
        all.set("TimePerBlock", self.milliseconds_per_block);
        all.set("StateRootInHeader", self.state_root_in_header);
        all.set("VerifyTransactions", self.verify_transactions);
        all.set("P2PSigExtensions", self.p2p_sig_extensions);
        all.set("ReservedAttributes", self.reserved_attributes);
        let genesis = &self.genesis;
        all.set("Genesis.MaxTraceableBlocks", genesis.max_traceable_blocks);
        let increment = genesis.max_valid_until_block_increment;
        all.set("Genesis.MaxValidUntilBlockIncrement", increment);
        all.set("Genesis.TimePerBlock", genesis.milliseconds_per_block);
        for (role, keys) in &genesis.roles {
            all.keys(&format!("Genesis.Roles.{role}"), keys);
        }
        if let Some(transaction) = &genesis.transaction {
            all.set("Genesis.Transaction.Script", hex(&transaction.script));
            all.set("Genesis.Transaction.SystemFee", transaction.system_fee);
        }
        all
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Configuration {
    fn from(&mut self, name: &str, height: u32, value: impl ToString) {
        self.0.entry(name.to_owned()).or_default().push((height, value.to_string()));
    }

    fn set(&mut self, name: &str, value: impl ToString) {
        self.from(name, 0, value);
    }

    fn keys(&mut self, name: &str, keys: &[PublicKey]) {
        for (place, key) in keys.iter().enumerate() {
            self.set(&format!("{name}[{place}]"), hex(key));
        }
    }

    /// The values of a setting with their first heights.
    pub(super) fn values(&self, name: &str) -> &[(u32, String)] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a setting at the genesis block.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let values = self.0.get(name)?;
        values.first().filter(|(height, _)| *height == 0).map(|(_, value)| value.as_str())
    }

    /// A numeric setting with the same value at all heights.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        let (_, value) = self.0.get(name)?.last()?;
        value.parse().ok()
    }

    /// One line for each value: name, height and value between tabs.
    #[must_use]
    pub fn to_text(&self) -> String {
        let values = self.0.iter().flat_map(|(name, values)| {
            values.iter().map(move |(height, value)| format!("{name}{TAB}{height}{TAB}{value}\n"))
        });
        values.collect()
    }

    /// Parses the text of [`Configuration::to_text`]; `None` if it is invalid.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut all = Self::default();
        for line in text.lines() {
            let (name, rest) = line.split_once(TAB)?;
            let (height, value) = rest.split_once(TAB)?;
            all.from(name, height.parse().ok()?, value);
        }
        Some(all)
    }

    /// Checks that a chain up to `height` under this configuration may continue under another one:
    /// only values that begin after the next block may differ.
    ///
    /// # Errors
    /// Returns the first setting that differs.
    pub fn allows(&self, other: &Self, height: u32) -> Result<(), Difference> {
        // the last block has already determined who signs the next one
        let last = height.saturating_add(1);
        let names = self.0.keys().chain(other.0.keys());
        for name in names {
            let (expected, found) = (self.up_to(name, last), other.up_to(name, last));
            if expected != found {
                let (expected, found) = (self.describe(name), other.describe(name));
                return Err(Difference { name: name.clone(), expected, found });
            }
        }
        Ok(())
    }

    fn up_to(&self, name: &str, last: u32) -> Vec<&(u32, String)> {
        let values = self.0.get(name).into_iter().flatten();
        values.filter(|(height, _)| *height <= last).collect()
    }

    fn describe(&self, name: &str) -> String {
        let text = |(height, value): &(u32, String)| match height {
            0 if value != HOLDS => value.clone(),
            height => format!("{value} from {height}"),
        };
        match self.0.get(name).map(|values| values.iter().map(text).collect::<Vec<_>>()) {
            None => "none".into(),
            Some(values) => values.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_parsed_from_its_text() {
        for name in Protocol::NETWORKS {
            let configuration = Protocol::by_name(name).unwrap().configuration();
            let text = configuration.to_text();
            assert!(text.lines().count() > 30, "{text}");
            assert_eq!(Configuration::from_text(&text), Some(configuration));
        }
        assert_eq!(Configuration::from_text("Magic\t0"), None);
        assert_eq!(Configuration::from_text("Magic\tx\t1"), None);
    }

    /// Changes a network.
    type Change = fn(&mut Protocol);

    #[test]
    fn what_begins_later_may_differ_and_nothing_else() {
        let own = Protocol::by_name("mainnet").unwrap();
        let (before, mut other) = (own.configuration(), own.clone());
        other.hardforks.set(Hardfork::Huyao, 20_000_000);
        other.committee_sizes.push((21_000_000, 7));
        let height = 19_999_998;
        assert_eq!(before.allows(&other.configuration(), height), Ok(()));
        assert_eq!(other.configuration().allows(&before, height), Ok(()));
        let text = before.allows(&other.configuration(), height + 1).unwrap_err().to_string();
        assert_eq!(text, "Hardforks.Huyao: expected none, found holds from 20000000");
        let changes: [(&str, Change); 5] = [
            ("Magic: expected 860833102, found 7", |all| all.magic = 7),
            ("CommitteeHistory: expected ", |all| all.committee_sizes[0].1 = 4),
            ("StandbyCommittee[0]: expected 03b2", |all| all.standby_committee.swap(0, 1)),
            ("StandbyCommittee[20]: expected 02cd", |all| all.standby_committee.truncate(20)),
            ("MaxTraceableBlocks: expected 2102400, found 9", |all| all.max_traceable_blocks = 9),
        ];
        for (words, change) in changes {
            let mut other = own.clone();
            change(&mut other);
            let text = before.allows(&other.configuration(), 5).unwrap_err().to_string();
            assert!(text.starts_with(words), "{text}");
        }
        // settings of block proposal are not rules of the chain
        let proposed = Protocol { max_block_size: 9, name: "custom", ..own };
        assert_eq!(before.allows(&proposed.configuration(), 5), Ok(()));
    }
}
