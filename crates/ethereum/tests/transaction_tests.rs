//! The public TransactionTests, fork by fork: what is accepted has the published sender, hash and
//! gas, and what is refused is refused for the published reason. Then the senders of blocks that
//! real clients executed.

use crate::{networks, vectors};
use blockmill_ethereum::body::{BodyError, BodyView};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::params::{ChainSpec, Fork};
use blockmill_ethereum::senders::{BATCH, KeyBatch, Signed};
use blockmill_ethereum::signing::{SignatureError, address_of, recover_sender};
use blockmill_ethereum::transaction_rules::{
    TransactionError, TransactionRules, gas, verify_form, verify_transaction,
};
use blockmill_ethereum::transactions::{self, Transaction, TransactionType, newest_type};
use blockmill_ethereum::{Address, U256};
use blockmill_hashes::ManyKeccak;
use blockmill_rlp::{Encode, Error, ErrorKind, Item, Reader};
use blockmill_signatures::{Signatures, Width};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

const FORKS: [(&str, Fork); 13] = [
    ("Frontier", Fork::Frontier),
    ("Homestead", Fork::Homestead),
    ("EIP150", Fork::TangerineWhistle),
    ("EIP158", Fork::SpuriousDragon),
    ("Byzantium", Fork::Byzantium),
    ("Constantinople", Fork::Constantinople),
    ("ConstantinopleFix", Fork::Petersburg),
    ("Istanbul", Fork::Istanbul),
    ("Berlin", Fork::Berlin),
    ("London", Fork::London),
    ("Paris", Fork::Paris),
    ("Shanghai", Fork::Shanghai),
    ("Cancun", Fork::Cancun),
];

/// What each published exception may be here: a rule, or a field and what is wrong with it. No
/// row and no entry may be left unused.
const REASONS: [(&str, &[&str]); 43] = [
    ("TYPE_NOT_SUPPORTED", &["Type", "transaction: UnknownType"]),
    ("RLP_ERROR_EOF", &["transaction: Truncated"]),
    // bytes that a field does not reach, or that are missing from the last one
    ("RLP_ERROR_SIZE", &["transaction: Truncated", "transaction: TrailingBytes"]),
    ("RLP_ERROR_SIZE_LEADING_ZEROS", &["transaction: NonCanonicalLength"]),
    ("RLP_INVALID_HEADER", &["transaction: ExpectedList"]),
    ("RLP_TOO_FEW_ELEMENTS", &["end: Truncated"]),
    ("RLP_TOO_MANY_ELEMENTS", &["end: TrailingBytes"]),
    ("RLP_INVALID_NONCE", &["nonce: ExpectedBytes"]),
    ("RLP_INVALID_GASLIMIT", &["gas limit: ExpectedBytes"]),
    ("RLP_INVALID_TO", &["to: ExpectedBytes"]),
    ("RLP_INVALID_DATA", &["input: ExpectedBytes"]),
    ("RLP_INVALID_SIGNATURE_R", &["r: ExpectedBytes"]),
    ("RLP_INVALID_SIGNATURE_S", &["s: ExpectedBytes"]),
    ("RLP_LEADING_ZEROS_NONCE", &["nonce: LeadingZero"]),
    ("RLP_LEADING_ZEROS_NONCE_SIZE", &["nonce: NonCanonicalByte"]),
    ("RLP_LEADING_ZEROS_GASPRICE", &["max fee: LeadingZero"]),
    ("RLP_LEADING_ZEROS_BASEFEE", &["max fee: LeadingZero"]),
    ("RLP_LEADING_ZEROS_PRIORITY_FEE", &["priority fee: LeadingZero"]),
    ("RLP_LEADING_ZEROS_GASLIMIT", &["gas limit: LeadingZero"]),
    ("RLP_LEADING_ZEROS_VALUE", &["value: LeadingZero"]),
    ("RLP_LEADING_ZEROS_DATA_SIZE", &["input: NonCanonicalLength"]),
    ("RLP_LEADING_ZEROS_V", &["v: LeadingZero"]),
    ("RLP_LEADING_ZEROS_R", &["r: LeadingZero"]),
    ("RLP_LEADING_ZEROS_S", &["s: LeadingZero"]),
    ("RLP_INVALID_ACCESS_LIST_ADDRESS_TOO_SHORT", &["access list: less than 20 bytes"]),
    ("RLP_INVALID_ACCESS_LIST_ADDRESS_TOO_LONG", &["access list: more than 20 bytes"]),
    ("RLP_INVALID_ACCESS_LIST_STORAGE_TOO_SHORT", &["access list: less than 32 bytes"]),
    ("RLP_INVALID_ACCESS_LIST_STORAGE_TOO_LONG", &["access list: more than 32 bytes"]),
    ("ADDRESS_TOO_SHORT", &["to: less than 20 bytes"]),
    ("ADDRESS_TOO_LONG", &["to: more than 20 bytes"]),
    ("NONCE_OVERFLOW", &["nonce: TooLarge"]),
    ("NONCE_TOO_BIG", &["Nonce"]),
    // one has nine bytes of which most are leading zeros
    ("GASLIMIT_OVERFLOW", &["gas limit: TooLarge", "gas limit: LeadingZero"]),
    ("GASPRICE_OVERFLOW", &["max fee: TooLarge"]),
    ("PRIORITY_OVERFLOW", &["priority fee: TooLarge"]),
    ("VALUE_OVERFLOW", &["value: TooLarge"]),
    ("GASLIMIT_PRICE_PRODUCT_OVERFLOW", &["UpfrontCost"]),
    ("PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS_2", &["PriorityFee"]),
    ("INTRINSIC_GAS_TOO_LOW", &["IntrinsicGas"]),
    ("INITCODE_SIZE_EXCEEDED", &["InitcodeSize"]),
    // the tests take every v but 27 and 28 for a chain's, also those too small to name one
    ("INVALID_CHAINID", &["Signature: ChainId", "Signature: V"]),
    (
        "INVALID_SIGNATURE_VRS",
        &["Signature: V", "Signature: R", "Signature: S", "r: TooLarge", "s: TooLarge"],
    ),
    ("EC_RECOVERY_FAIL", &["Signature: NoSigner"]),
];

/// The fields of a transaction, in order.
fn fields(kind: TransactionType) -> Vec<&'static str> {
    use TransactionType::{Blob, DynamicFee, Legacy, SetCode};
    let [typed, dynamic] = [kind != Legacy, kind >= DynamicFee];
    let all = [
        (typed, "chain id"),
        (true, "nonce"),
        (dynamic, "priority fee"),
        (true, "max fee"),
        (true, "gas limit"),
        (true, "to"),
        (true, "value"),
        (true, "input"),
        (typed, "access list"),
        (kind == Blob, "blob fee"),
        (kind == Blob, "blob hashes"),
        (kind == SetCode, "authorizations"),
        (true, "v"),
        (true, "r"),
        (true, "s"),
    ];
    all.into_iter().filter_map(|(present, field)| present.then_some(field)).collect()
}

/// The name of the field that holds the byte at `offset`, or begins there and cannot be read.
fn field_at(item: &Item<'_>, offset: usize) -> &'static str {
    let Some(kind) = kind_of(item) else { return "transaction" };
    let list = match kind {
        TransactionType::Legacy => Reader::with_base(item.raw, item.offset).list(),
        _ => {
            let base = item.offset + item.raw.len() - item.payload.len() + 1;
            Reader::with_base(&item.payload[1..], base).list()
        }
    };
    let Ok(mut list) = list else { return "transaction" };
    for field in fields(kind) {
        match list.item() {
            Ok(item) if item.offset + item.raw.len() > offset => return field,
            Ok(_) => {}
            Err(_) if list.is_empty() => return "end",
            Err(_) => return field,
        }
    }
    "end"
}

/// The first word of a value's text: the name of a variant.
fn word(value: &impl Debug) -> String {
    let text = format!("{value:?}");
    text.split([' ', '(']).next().unwrap().to_string()
}

/// What is wrong with a field.
fn fault(kind: ErrorKind) -> String {
    match kind {
        ErrorKind::WrongLength { expected, found } => {
            format!("{} than {expected} bytes", if found < expected { "less" } else { "more" })
        }
        kind => word(&kind),
    }
}

/// A transaction as it is sent, a typed one without the byte string that is around it in a block,
/// or with it; and what follows. Those who made the tests read both forms.
fn split(raw: &[u8]) -> Result<(Item<'_>, Reader<'_>), Error> {
    let mut reader = Reader::new(raw);
    match raw {
        [0..0x80, ..] => {
            let item = Item { is_list: false, payload: raw, raw, offset: 0 };
            Ok((item, Reader::new(&[])))
        }
        _ => Ok((reader.item()?, reader)),
    }
}

/// The type of the transaction `item`, its contents not looked at.
fn kind_of(item: &Item<'_>) -> Option<TransactionType> {
    if item.is_list {
        return Some(TransactionType::Legacy);
    }
    TransactionType::from_byte(*item.payload.first()?)
}

fn type_of(raw: &[u8]) -> Option<TransactionType> {
    kind_of(&split(raw).ok()?.0)
}

fn decode(raw: &[u8]) -> Result<Transaction<'_>, String> {
    let whole = |error: Error| format!("transaction: {}", fault(error.kind));
    let (item, rest) = split(raw).map_err(whole)?;
    let faulty = |Error { offset, kind }| format!("{}: {}", field_at(&item, offset), fault(kind));
    if kind_of(&item).is_some() {
        rest.finish().map_err(whole)?;
    }
    match raw {
        [0..0x80, ..] => Transaction::decode_canonical(raw).map_err(faulty),
        _ => transactions::read(&mut Reader::new(item.raw)).map_err(|error| match error {
            BodyError::Rlp(error) => faulty(error),
            other => word(&other),
        }),
    }
}

fn reason(error: &TransactionError) -> String {
    match error {
        TransactionError::Signature(error) => format!("Signature: {}", word(error)),
        other => word(other),
    }
}

/// What the tests met so far.
#[derive(Default)]
struct Tally {
    files: usize,
    accepted: BTreeMap<Fork, usize>,
    refused: BTreeMap<Fork, usize>,
    /// How often each exception was each reason.
    reasons: BTreeMap<(&'static str, &'static str), usize>,
    /// Refused ones whose gas is published and was compared.
    gas_of_refused: usize,
}

impl Tally {
    fn check(&mut self, name: &str, fork: Fork, raw: &[u8], result: &Value) {
        let decoded = decode(raw);
        let gas = decoded.as_ref().map(|tx| gas::intrinsic_gas(tx, fork, false));
        let published = number(&result["intrinsicGas"]);
        let verified = decoded.as_ref().map_err(String::clone).and_then(|tx| {
            verify_transaction(tx, &TransactionRules::new(fork, U256::ONE))
                .map_err(|error| reason(&error))
        });
        let Some(exception) = result["exception"].as_str() else {
            let tx = decoded.as_ref().unwrap();
            assert_eq!(verified, Ok(address(&result["sender"])), "{name}, {fork:?}: sender");
            assert_eq!(gas, Ok(published), "{name}, {fork:?}: gas");
            let hash = tx.canonical().hash().to_vec();
            assert_eq!(hash, bytes(&result["hash"]), "{name}, {fork:?}: hash");
            *self.accepted.entry(fork).or_default() += 1;
            return;
        };
        let found = verified.expect_err(&format!("{name}, {fork:?}: expected {exception}"));
        // the decoder does not know the fork, so fields can be faulty in a type of a later one
        let later = type_of(raw).is_some_and(|kind| kind > newest_type(fork));
        let exception = exception.strip_prefix("TransactionException.").unwrap();
        let row = REASONS.iter().find(|(known, _)| *known == exception);
        let (exception, allowed) = row.unwrap_or_else(|| panic!("{name}: unknown {exception}"));
        let reason = allowed.iter().find(|reason| **reason == found || later && **reason == "Type");
        let reason = reason.unwrap_or_else(|| panic!("{name}, {fork:?}: {found}, not {exception}"));
        if published != 0
            && let Ok(gas) = gas
        {
            assert_eq!(gas, published, "{name}, {fork:?}: gas");
            self.gas_of_refused += 1;
        }
        *self.refused.entry(fork).or_default() += 1;
        *self.reasons.entry((exception, reason)).or_default() += 1;
    }

    fn print(&self) {
        for (name, fork) in FORKS {
            println!("{name}: {} accepted, {} refused", self.accepted[&fork], self.refused[&fork]);
        }
        for ((exception, reason), count) in &self.reasons {
            println!("{count:>4} {exception} as {reason}");
        }
    }
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    blockmill_testkit::hex::decode(value.as_str().unwrap())
}

fn address(value: &Value) -> Address {
    bytes(value).try_into().unwrap()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_transaction_has_its_published_fate_under_every_fork() {
    let mut tally = Tally::default();
    vectors::for_each_file(&["TransactionTests/"], |file, text| {
        let tests: Value = serde_json::from_str(text).unwrap();
        for (name, test) in tests.as_object().unwrap() {
            let raw = bytes(&test["txbytes"]);
            for (fork, result) in test["result"].as_object().unwrap() {
                let (_, fork) = FORKS.iter().find(|(known, _)| known == fork).unwrap();
                tally.check(&format!("{file}, {name}"), *fork, &raw, result);
            }
        }
        tally.files += 1;
    });
    tally.print();
    let (accepted, refused): (usize, usize) =
        (tally.accepted.values().sum(), tally.refused.values().sum());
    let gas = tally.gas_of_refused;
    println!("{} files, {accepted} accepted, {refused} refused, gas of {gas}", tally.files);
    assert_eq!((tally.files, accepted, refused), (210, 606, 2_059));
    for (exception, reasons) in REASONS {
        for reason in reasons {
            let count = tally.reasons.get(&(exception, *reason));
            assert!(count.is_some(), "{exception} was never {reason}");
        }
    }
}

/// The sender, nonce and type of each transaction of a block, all of which must be valid.
fn senders(spec: &ChainSpec, block: &[u8]) -> Vec<(Address, u64, TransactionType)> {
    let (header, body) = BodyView::decode_block(block).unwrap();
    let header = HeaderView::decode(header).unwrap();
    let fork = spec.rules_of(&header).fork;
    let verify = |tx: Transaction<'_>| {
        let sender = verify_transaction(&tx, &TransactionRules::new(fork, spec.chain_id));
        let sender = sender.unwrap_or_else(|error| panic!("block {}: {error}", header.number));
        (sender, tx.nonce, tx.kind)
    };
    let one_by_one: Vec<_> = body.transactions().map(verify).collect();
    let signed = body.transactions().map(|transaction| {
        let form = verify_form(&transaction, &TransactionRules::new(fork, spec.chain_id)).unwrap();
        Signed { transaction, form }
    });
    let senders = one_by_one.iter().map(|(sender, ..)| Some(*sender));
    assert_eq!(batched(&signed.collect::<Vec<_>>()), senders.collect::<Vec<_>>());
    one_by_one
}

/// The senders of transactions, recovered together; every variant gives the same.
fn batched(signed: &[Signed<'_>]) -> Vec<Option<Address>> {
    let mut verdicts = Width::ALL.into_iter().filter_map(Signatures::with).map(|signatures| {
        let (mut batch, hasher) = (KeyBatch::default(), ManyKeccak::detect());
        let keys = batch.recover(signed, &signatures, &hasher).iter();
        keys.map(|key| key.as_ref().map(address_of)).collect::<Vec<_>>()
    });
    let scalar = verdicts.next().unwrap();
    verdicts.for_each(|lanes| assert_eq!(lanes, scalar));
    scalar
}

/// All transactions whose numbers are right, in batches of several sizes, those without a key among
/// them.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn batches_of_published_transactions_have_the_senders_of_each_alone() {
    let mut cases = vec![];
    vectors::for_each_file(&["TransactionTests/"], |_, text| {
        let tests: Value = serde_json::from_str(text).unwrap();
        for test in tests.as_object().unwrap().values() {
            let raw = bytes(&test["txbytes"]);
            let forks = test["result"].as_object().unwrap().keys();
            let fork = |name| FORKS.iter().find(|(known, _)| known == name).unwrap().1;
            cases.extend(forks.map(|name| (raw.clone(), fork(name))));
        }
    });
    let (mut signed, mut alone) = (vec![], vec![]);
    for (raw, fork) in &cases {
        let Ok(transaction) = decode(raw) else { continue };
        let rules = TransactionRules::new(*fork, U256::ONE);
        let Ok(form) = verify_form(&transaction, &rules) else { continue };
        let nobody = |error| assert!(matches!(error, SignatureError::NoSigner(_)), "{error}");
        alone.push(recover_sender(&transaction, form).map_err(nobody).ok());
        signed.push(Signed { transaction, form });
    }
    let nobody = alone.iter().filter(|sender| sender.is_none()).count();
    println!("{} transactions, {nobody} of nobody", alone.len());
    assert!(alone.len() > 606 && nobody > 0);
    for size in [1, 3, 16, 17, 100, BATCH, alone.len()] {
        let batches = signed.chunks(size).flat_map(batched);
        assert_eq!(batches.collect::<Vec<_>>(), alone, "batches of {size}");
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn senders_of_valid_test_blocks_are_the_published_ones() {
    let mut count = 0;
    let folders = ["BlockchainTests/", "EIPTests/BlockchainTests/"];
    vectors::for_each_file(&folders, |file, text| {
        let tests: Value = serde_json::from_str(text).unwrap();
        for test in tests.as_object().unwrap().values() {
            let network = test["network"].as_str().unwrap();
            let blocks = test["blocks"].as_array().unwrap();
            let valid = blocks.iter().filter(|block| block["transactions"].is_array());
            for block in valid.filter(|block| block["expectException"].is_null()) {
                let spec = networks::spec(network, &test["genesisBlockHeader"], &test["pre"]);
                let found = senders(&spec, &bytes(&block["rlp"]));
                let published = block["transactions"].as_array().unwrap();
                assert_eq!(found.len(), published.len(), "{file}");
                // some transactions have no published sender
                let found = found.iter().zip(published).filter(|(_, tx)| tx["sender"].is_string());
                for ((found, ..), tx) in found {
                    assert_eq!(*found, address(&tx["sender"]), "{file}");
                    count += 1;
                }
            }
        }
    });
    println!("{count} senders of test blocks");
    assert_eq!(count, 3_040);
}

/// One account sends all transactions of each of these chains; a wrongly recovered one would stand
/// next to it.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn exported_chains_have_one_sender_whose_nonces_count_up() {
    for (chain, expected) in [
        ("hive-sync", 546),
        ("hive-engine", 11_264),
        ("geth-ethtest", 603),
        ("execution-apis", 249),
    ] {
        let folder = blockmill_testkit::fixture("ethereum/chains").join(chain);
        let genesis = std::fs::read_to_string(folder.join("genesis.json")).unwrap();
        let spec = ChainSpec::from_genesis_json(&genesis).unwrap();
        let file = std::fs::read(folder.join("chain.rlp")).unwrap();
        let (mut blocks, mut types, mut next) = (Reader::new(&file), [0; 5], HashMap::new());
        while !blocks.is_empty() {
            for (sender, nonce, kind) in senders(&spec, blocks.item().unwrap().raw) {
                let expected = next.entry(sender).or_insert(0);
                assert_eq!(nonce, *expected, "{chain}: {sender:02x?}");
                *expected += 1;
                types[kind as usize] += 1;
            }
        }
        println!("{chain}: {} senders, transactions by type {types:?}", next.len());
        assert_eq!((next.len(), types.iter().sum()), (1, expected), "{chain}");
    }
}

/// A witness names the accounts that its block touches, if it names any: all senders are there.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn transactions_of_real_blocks_are_valid() {
    let (mut count, mut known) = (0, 0);
    for entry in std::fs::read_dir(blockmill_testkit::fixture("ethereum/witness")).unwrap() {
        let text = blockmill_testkit::read(entry.unwrap().path());
        let witness: Value = serde_json::from_slice(&text).unwrap();
        let network = if witness["chainId"] == 1 { "mainnet" } else { "hoodi" };
        let senders = senders(&ChainSpec::by_name(network).unwrap(), &bytes(&witness["block"]));
        count += senders.len();
        let Some(keys) = witness["witness"]["keys"].as_array().filter(|k| !k.is_empty()) else {
            continue;
        };
        let keys: Vec<_> = keys.iter().map(bytes).collect();
        for (sender, ..) in senders {
            assert!(keys.iter().any(|key| *key == sender), "{}", witness["number"]);
            known += 1;
        }
    }
    println!("{count} transactions of real blocks, {known} senders among named accounts");
    assert_eq!((count, known), (355, 66));
}
