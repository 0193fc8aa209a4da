//! Rebuilds a network from the configuration in a store.

use super::{Configuration, GenesisSettings, GenesisTransaction, Hardfork, Hardforks, Protocol};
use crate::types::PublicKey;
use std::str::FromStr;

/// Limit of the members of a committee.
const MAX_KEYS: usize = 1024;

impl Configuration {
    /// The network with this configuration; `None` if a setting is missing. Settings of block
    /// proposal get neo-go's defaults.
    #[must_use]
    pub fn protocol(&self) -> Option<Protocol> {
        let known = Protocol::NETWORKS.into_iter().filter_map(Protocol::by_name);
        for network in known {
            if network.configuration() == *self {
                return Some(network);
            }
        }
        let mut hardforks = Hardforks::default();
        for hardfork in Hardfork::ALL {
            if let Some((height, _)) = self.values(&format!("Hardforks.{hardfork}")).first() {
                hardforks.set(hardfork, *height);
            }
        }
        let (script, fee) = ("Genesis.Transaction.Script", "Genesis.Transaction.SystemFee");
        let transaction = match self.value(script) {
            None => None,
            Some(digits) => {
                Some(GenesisTransaction { script: bytes(digits)?, system_fee: self.parsed(fee)? })
            }
        };
        let roles = (0..=u8::MAX).filter_map(|role| {
            let keys = self.public_keys(&format!("Genesis.Roles.{role}"))?;
            (!keys.is_empty()).then_some((role, keys))
        });
        let genesis = GenesisSettings {
            max_traceable_blocks: self.parsed("Genesis.MaxTraceableBlocks")?,
            max_valid_until_block_increment: self.parsed("Genesis.MaxValidUntilBlockIncrement")?,
            milliseconds_per_block: self.parsed("Genesis.TimePerBlock")?,
            roles: roles.collect(),
            transaction,
        };
        Some(Protocol {
            name: "custom",
            magic: self.parsed("Magic")?,
            standby_committee: self.public_keys("StandbyCommittee")?,
            committee_sizes: self.numbers("CommitteeHistory")?,
            validator_counts: self.numbers("ValidatorsHistory")?,
            hardforks,
            initial_gas: self.parsed("InitialGASSupply")?,
            max_block_size: Protocol::MAX_BLOCK_SIZE,
            max_block_system_fee: self.parsed("MaxBlockSystemFee")?,
            max_traceable_blocks: self.parsed("MaxTraceableBlocks")?,
            max_transactions_per_block: Protocol::MAX_TRANSACTIONS_PER_BLOCK,
            max_valid_until_block_increment: self.parsed("MaxValidUntilBlockIncrement")?,
            milliseconds_per_block: self.parsed("TimePerBlock")?,
            state_root_in_header: self.parsed("StateRootInHeader")?,
            verify_transactions: self.parsed("VerifyTransactions")?,
            p2p_sig_extensions: self.parsed("P2PSigExtensions")?,
            reserved_attributes: self.parsed("ReservedAttributes")?,
            genesis,
        })
    }

    fn parsed<T: FromStr>(&self, name: &str) -> Option<T> {
        self.value(name)?.parse().ok()
    }

    fn numbers(&self, name: &str) -> Option<Vec<(u32, u32)>> {
        let number = |(height, value): &(u32, String)| Some((*height, value.parse().ok()?));
        self.values(name).iter().map(number).collect()
    }

    /// The keys of a list, by index; `None` if one is invalid.
    fn public_keys(&self, name: &str) -> Option<Vec<PublicKey>> {
        let places = (0..MAX_KEYS).map_while(|place| self.value(&format!("{name}[{place}]")));
        places.map(|digits| bytes(digits)?.try_into().ok()).collect()
    }
}

/// Decodes hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_of_a_kept_configuration_is_the_one_it_was_written_for() {
        for name in Protocol::NETWORKS {
            let network = Protocol::by_name(name).unwrap();
            assert_eq!(network.configuration().protocol(), Some(network));
        }
        let mut own = Protocol::by_name("testnet").unwrap();
        (own.name, own.magic, own.state_root_in_header) = ("custom", 7, true);
        own.max_block_size = Protocol::MAX_BLOCK_SIZE;
        own.max_transactions_per_block = Protocol::MAX_TRANSACTIONS_PER_BLOCK;
        own.hardforks.set(Hardfork::Huyao, 20_000_000);
        own.committee_sizes.push((21_000_000, 7));
        own.genesis.roles = vec![(4, own.standby_committee[..2].to_vec())];
        own.genesis.transaction =
            Some(GenesisTransaction { script: vec![0x11, 0x40], system_fee: -5 });
        let kept = Configuration::from_text(&own.configuration().to_text()).unwrap();
        assert_eq!(kept.protocol(), Some(own));
        let lacks = kept.to_text().replace("Magic\t", "Magik\t");
        assert_eq!(Configuration::from_text(&lacks).unwrap().protocol(), None);
    }
}
