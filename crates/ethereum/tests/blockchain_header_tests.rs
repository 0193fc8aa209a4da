//! What the public BlockchainTests say about blocks without their state: valid blocks pass every
//! rule of headers, ommers, bodies and transactions; invalid blocks are refused by the rule that
//! the test names, or need execution.

use crate::{big_integers, networks, vectors};
use blockmill_ethereum::body::{BodyView, verify_body};
use blockmill_ethereum::difficulty::Parent;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::header::rules::{verify_genesis, verify_header, verify_merge};
use blockmill_ethereum::ommers::{Ancestor, AncestorWindow};
use blockmill_ethereum::params::{ChainSpec, Fork};
use blockmill_ethereum::rule::Violation;
use blockmill_ethereum::senders::{KeyBatch, Refused, Senders};
use blockmill_ethereum::transaction_rules::TransactionRules;
use blockmill_ethereum::transaction_rules::block::BlockTerms;
use blockmill_ethereum::{Hash, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_signatures::Signatures;
use blockmill_trie::RootBuilder;
use serde_json::Value;
use std::collections::HashMap;

/// Why a block is refused.
#[derive(Debug)]
enum Refusal {
    /// It does not decode.
    Encoding,
    /// Its parent is no block of the test.
    UnknownParent,
    /// A rule of headers or ommers is broken.
    Header(Violation),
    /// The body is not the header's.
    Body(Violation),
    /// A transaction is not valid, whatever the state.
    Transaction(Violation),
}

struct Block {
    raw: Vec<u8>,
    total_difficulty: U256,
}

impl Block {
    fn parts(&self) -> (HeaderView<'_>, BodyView<'_>) {
        let (header, body) = BodyView::decode_block(&self.raw).unwrap();
        (HeaderView::decode(header).unwrap(), body)
    }
}

/// The blocks of one test, on all of its branches.
struct Chain {
    spec: ChainSpec,
    blocks: HashMap<Hash, Block>,
}

impl Chain {
    fn new(test: &Value) -> Self {
        let network = test["network"].as_str().unwrap();
        let spec = networks::spec(network, &test["genesisBlockHeader"], &test["pre"]);
        let raw = blockmill_testkit::hex::decode(test["genesisRLP"].as_str().unwrap());
        let total_difficulty = spec.genesis.header.difficulty;
        let genesis = Block { raw, total_difficulty };
        let hash = genesis.parts().0.hash();
        verify_genesis(&spec, &hash).unwrap();
        Self { spec, blocks: HashMap::from([(hash, genesis)]) }
    }

    /// The last blocks before `hash`, itself included, oldest first.
    fn window(&self, hash: &Hash) -> AncestorWindow {
        let mut ancestors = vec![];
        let mut next = self.blocks.get_key_value(hash);
        while let Some((hash, block)) = next.filter(|_| ancestors.len() < 7) {
            let (header, body) = block.parts();
            let ommers: Vec<_> = body.ommers().collect();
            ancestors.push(Ancestor::new(*hash, &header, &ommers));
            next = self.blocks.get_key_value(header.parent_hash);
        }
        let mut window = AncestorWindow::default();
        ancestors.into_iter().rev().for_each(|ancestor| window.push(ancestor));
        window
    }

    /// Hash and total difficulty of a block that breaks no rule, as far as headers and bodies tell.
    fn verify(&self, raw: &[u8]) -> Result<(Hash, U256), Refusal> {
        let mut outer = blockmill_rlp::Reader::new(raw);
        let header = outer.list().and_then(|mut block| block.item());
        let header = header.and_then(|item| HeaderView::decode(item.raw));
        let header = header.map_err(|_| Refusal::Encoding)?;
        let known = self.blocks.get_key_value(header.parent_hash);
        let (parent_hash, parent) = known.ok_or(Refusal::UnknownParent)?;
        let (parent_header, _) = parent.parts();
        if header.timestamp > parent_header.timestamp {
            let formula = self.spec.rules_at(header.number, header.timestamp).difficulty;
            let (time, parent) = (header.timestamp, Parent::from(&parent_header));
            assert_eq!(formula.next(time, &parent), big_integers::next(formula, time, &parent));
        }
        verify_header(&self.spec, &parent_header, parent_hash, &header).map_err(Refusal::Header)?;
        verify_merge(&self.spec, parent.total_difficulty, &header).map_err(Refusal::Header)?;
        let (_, body) = BodyView::decode_block(raw).map_err(|_| Refusal::Encoding)?;
        let fork = self.spec.rules_of(&header).fork;
        verify_body(fork, &header, &body, &mut RootBuilder::new()).map_err(Refusal::Body)?;
        self.verify_transactions(fork, &header, &body)
            .map_err(|refused| Refusal::Transaction(refused.error.into()))?;
        let ommers: Vec<_> = body.ommers().collect();
        let unchecked = self
            .window(header.parent_hash)
            .verify_ommers(&self.spec, &header, &ommers)
            .map_err(Refusal::Header)?;
        assert_eq!(unchecked, 0);
        Ok((header.hash(), parent.total_difficulty + header.difficulty))
    }
}

impl Chain {
    /// Every rule of transactions, and their senders.
    fn verify_transactions(
        &self,
        fork: Fork,
        header: &HeaderView<'_>,
        body: &BodyView<'_>,
    ) -> Result<(), Refused> {
        let mut keys = KeyBatch::default();
        let mut senders = Senders::new(Signatures::detect(), ManyKeccak::detect(), &mut keys);
        let blobs = self.spec.rules_at(header.number, header.timestamp).blobs;
        let terms = BlockTerms::new(header, blobs);
        let rules = TransactionRules::new(fork, self.spec.chain_id);
        senders.add(0, body.transactions(), &rules, &terms)?;
        senders.recover()
    }
}

/// What a test lets an invalid block be refused for, by the name of its exception.
fn allowed(exception: &str) -> &'static [&'static str] {
    match exception.trim_start_matches("BlockException.") {
        "EXTRA_DATA_INVALID_DAO" => &["DaoExtraData"],
        "EXTRA_DATA_TOO_BIG" => &["ExtraData"],
        "GASLIMIT_TOO_BIG" => &["GasLimitMaximum"],
        "GAS_USED_OVERFLOW" => &["GasUsed"],
        "IMPORT_IMPOSSIBLE_DIFFICULTY_OVER_PARIS" => &["Merge"],
        // a header of another fork has a field too many or too few
        "IMPORT_IMPOSSIBLE_LEGACY"
        | "IMPORT_IMPOSSIBLE_LEGACY_WRONG_PARENT"
        | "IMPORT_IMPOSSIBLE_LONDON_WRONG_PARENT" => &["BaseFee"],
        "IMPORT_IMPOSSIBLE_PARIS_OVER_SHANGHAI" | "IMPORT_IMPOSSIBLE_SHANGHAI" => {
            &["WithdrawalsRoot"]
        }
        "IMPORT_IMPOSSIBLE_PARIS_WRONG_POS" | "IMPORT_IMPOSSIBLE_PARIS_WRONG_POW" => {
            &["TerminalTotalDifficulty"]
        }
        "IMPORT_IMPOSSIBLE_UNCLES_OVER_PARIS" => &["OmmersHash"],
        "INVALID_BASEFEE_PER_GAS" => &["BaseFee"],
        "INVALID_BLOCK_NUMBER" => &["Number"],
        "INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT" => &["Timestamp"],
        "INVALID_DIFFICULTY" => &["Difficulty"],
        "INVALID_GASLIMIT" => &["GasLimitBound", "GasLimitMinimum"],
        "UNCLE_PARENT_INCORRECT" => &["OmmerParent"],
        "UNKNOWN_PARENT" | "UNKNOWN_PARENT_ZERO" => &["unknown parent"],
        "INVALID_TRANSACTIONS_ROOT" => &["TransactionsRoot"],
        "INVALID_WITHDRAWALS_ROOT" => &["BodyWithdrawalsRoot"],
        "RLP_STRUCTURES_ENCODING|BlockException.RLP_WITHDRAWALS_NOT_READ" => {
            &["encoding", "BodyWithdrawalsRoot"]
        }
        "RLP_STRUCTURES_ENCODING|BlockException.RLP_INVALID_ADDRESS"
        | "RLP_STRUCTURES_ENCODING|BlockException.RLP_INVALID_FIELD_OVERFLOW_64" => &["encoding"],
        "INVALID_GAS_USED"
        | "INVALID_LOG_BLOOM"
        | "INVALID_RECEIPTS_ROOT"
        | "INVALID_STATE_ROOT" => &["left to execution"],
        "TR_TypeNotSupportedBlob" | "TransactionException.TYPE_NOT_SUPPORTED" => {
            &["TransactionType"]
        }
        // the headers of all these blocks but one have the root without the bad transaction
        "TransactionException.INTRINSIC_GAS_TOO_LOW" => &["TransactionsRoot", "IntrinsicGas"],
        name if name.starts_with("TransactionException.") => &["TransactionsRoot"],
        other => panic!("unknown exception {other}"),
    }
}

/// Counts of one run.
#[derive(Debug, Default)]
struct Counts {
    tests: usize,
    valid_accepted: usize,
    refused_by_header_rules: usize,
    refused_by_body_rules: usize,
    refused_by_transaction_rules: usize,
    refused_as_encoding: usize,
    refused_without_parent: usize,
    left_to_execution: usize,
}

impl Counts {
    /// Counts the verdict on an invalid block and gives it a name.
    fn invalid(&mut self, verdict: &Result<(Hash, U256), Refusal>) -> String {
        let (count, name) = match verdict {
            Ok(_) => (&mut self.left_to_execution, "left to execution".into()),
            Err(Refusal::Encoding) => (&mut self.refused_as_encoding, "encoding".into()),
            Err(Refusal::UnknownParent) => {
                (&mut self.refused_without_parent, "unknown parent".into())
            }
            Err(Refusal::Header(broken)) => {
                (&mut self.refused_by_header_rules, format!("{:?}", broken.rule))
            }
            Err(Refusal::Body(broken)) => {
                (&mut self.refused_by_body_rules, format!("{:?}", broken.rule))
            }
            Err(Refusal::Transaction(broken)) => {
                (&mut self.refused_by_transaction_rules, format!("{:?}", broken.rule))
            }
        };
        *count += 1;
        name
    }
}

fn run(name: &str, test: &Value, counts: &mut Counts) {
    let mut chain = Chain::new(test);
    counts.tests += 1;
    for block in test["blocks"].as_array().unwrap() {
        let raw = blockmill_testkit::hex::decode(block["rlp"].as_str().unwrap());
        let verdict = chain.verify(&raw);
        match block["expectException"].as_str() {
            None => {
                let (hash, total_difficulty) = verdict.unwrap_or_else(|e| panic!("{name}: {e:?}"));
                chain.blocks.insert(hash, Block { raw, total_difficulty });
                counts.valid_accepted += 1;
            }
            Some(exception) => {
                let found = counts.invalid(&verdict);
                let allowed = allowed(exception);
                assert!(allowed.contains(&found.as_str()), "{name}: {exception}, {verdict:?}");
            }
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_get_the_verdict_that_the_tests_expect() {
    let mut counts = Counts::default();
    let folders = ["BlockchainTests/", "EIPTests/BlockchainTests/"];
    vectors::for_each_file(&folders, |file, text| {
        let tests: Value = serde_json::from_str(text).unwrap();
        for (name, test) in tests.as_object().unwrap() {
            run(&format!("{file} {name}"), test, &mut counts);
        }
    });
    println!("{counts:#?}");
    assert!(counts.tests > 2_000 && counts.valid_accepted > 2_700, "{counts:?}");
    assert_eq!(counts.refused_by_transaction_rules, 1);
}
