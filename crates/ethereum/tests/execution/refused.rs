//! A valid block with one field changed that only execution can see is refused by its own rule, and
//! the state is as before.

use crate::source;
use blockmill_ethereum::body::BodyView;
use blockmill_ethereum::error::Rule;
use blockmill_ethereum::execute::{ExecutionError, PreparedBlock, Replay};
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::params::{ChainSpec, Fork};
use blockmill_ethereum::state::Tries;
use std::collections::BTreeMap;

/// A header with one field changed.
type Change = fn(&mut Header);

/// Fields that execution determines, and the rules that refuse another value.
const CHANGES: [(&str, Change, &[Rule]); 5] = [
    ("state root", |header| header.state_root[3] ^= 1, &[Rule::StateRoot]),
    ("receipts root", |header| header.receipts_root[0] ^= 1, &[Rule::ReceiptsRoot]),
    ("logs bloom", |header| header.logs_bloom[9] ^= 4, &[Rule::LogsBloom]),
    ("gas used", |header| header.gas_used += 1, &[Rule::ReceiptsGas]),
    // the reward or the fees go to another account
    (
        "coinbase",
        |header| header.beneficiary[7] ^= 1,
        &[Rule::StateRoot, Rule::ReceiptsRoot, Rule::ReceiptsGas],
    ),
];

#[testkit::needs(fixtures)]
#[test]
fn blocks_of_every_fork_with_one_wrong_field() {
    let genesis = testkit::read("ethereum/chains/execution-apis/genesis.json");
    let spec = ChainSpec::from_genesis_json(str::from_utf8(&genesis).unwrap()).unwrap();
    let mut replay = Replay::from_genesis(&spec, Tries::arena().unwrap()).unwrap();
    let mut refused: BTreeMap<Fork, usize> = BTreeMap::new();
    for block in source::chain("execution-apis") {
        let header = HeaderView::decode(&block.header).unwrap();
        let body = BodyView::decode(&block.body).unwrap();
        let good = PreparedBlock::verified(&spec, &header, &body).unwrap();
        let before = replay.root().unwrap();
        for (field, change, rules) in CHANGES {
            if field == "coinbase" && good.terms.fork >= Fork::Paris && good.header.gas_used == 0 {
                continue; // nobody earns anything
            }
            let mut wrong = good.clone();
            change(&mut wrong.header);
            wrong.terms.beneficiary = wrong.header.beneficiary;
            let name = format!("{field} of block {}", good.header.number);
            match replay.execute(&wrong) {
                Err(ExecutionError::Rule(violation)) => {
                    assert!(rules.contains(&violation.rule), "{name}: {violation}");
                    assert_ne!(violation.expected, violation.found);
                }
                other => panic!("{name}: {other:?}"),
            }
            assert_eq!(replay.root().unwrap(), before, "{name}");
            *refused.entry(good.terms.fork).or_default() += 1;
        }
        if good.terms.fork >= Fork::Prague {
            let mut wrong = good.clone();
            wrong.header.requests_hash = Some([1; 32]);
            match replay.execute(&wrong) {
                Err(ExecutionError::Rule(violation)) => assert_eq!(violation.rule, Rule::Requests),
                other => panic!("requests of block {}: {other:?}", good.header.number),
            }
            let mut wrong = good.clone();
            wrong.header.parent_beacon_root = Some([1; 32]);
            match replay.execute(&wrong) {
                Err(ExecutionError::Rule(violation)) => assert_eq!(violation.rule, Rule::StateRoot),
                other => panic!("beacon root of block {}: {other:?}", good.header.number),
            }
        }
        replay.execute(&good).unwrap();
    }
    assert!(refused.len() > 10, "{refused:?}");
}
