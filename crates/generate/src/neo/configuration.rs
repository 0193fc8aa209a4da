//! The configuration of a generated network, in neo-go's format.

use blockmill_neo::params::Hardfork;
use blockmill_neo::types::PublicKey;
use blockmill_verdict::Digits;
use std::fmt::Write;

/// The magic of the network.
const MAGIC: u32 = 5_000_111;

/// The text: one consensus node, all stable hardforks from the genesis block on, and limits above
/// those of generated blocks.
pub fn text(committee: &PublicKey, state_roots: bool) -> String {
    let mut text = format!(
        "# Written by blockmill generate neo.
ProtocolConfiguration:
  Magic: {MAGIC}
  MaxTraceableBlocks: 2102400
  MaxValidUntilBlockIncrement: 86400
  MaxTransactionsPerBlock: 65535
  MaxBlockSize: 67108864
  MaxBlockSystemFee: 16000000000000
  MemPoolSize: 70000
  TimePerBlock: 1s
  StandbyCommittee:
    - {}
  ValidatorsCount: 1
  SeedList: []
  StateRootInHeader: {state_roots}
  VerifyTransactions: true
  P2PSigExtensions: true
  Hardforks:
",
        Digits(committee)
    );
    for hardfork in Hardfork::ALL.into_iter().filter(|each| *each <= Hardfork::LATEST_STABLE) {
        // writing to a String does not fail
        let _ = writeln!(text, "    {hardfork}: 0");
    }
    text.push_str(
        "ApplicationConfiguration:
  SkipBlockVerification: false
  DBConfiguration:
    Type: \"inmemory\"
",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neo::participants::Participants;
    use blockmill_neo::params::Protocol;

    #[test]
    fn the_configuration_is_read_back() {
        for state_roots in [false, true] {
            let key = Participants::committee_key(1).unwrap();
            let protocol = Protocol::from_yaml(&text(&key, state_roots)).unwrap();
            assert_eq!(protocol.standby_committee, [key]);
            assert_eq!(protocol.state_root_in_header, state_roots);
            assert!(protocol.verify_transactions);
        }
    }
}
