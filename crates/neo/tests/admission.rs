//! Transactions that rules over the state reject, and witnesses that the machine runs.

use crate::dumps;
use crate::dumps::Dump;
use crate::witnesses::with_malformed_key;
use blockmill_hashes::ManySha256;
use blockmill_neo::execute::{
    admit::TransactionVerifier,
    block::{Executor, machine},
    chain_view::ChainView,
    engine::Chain,
    interop::syscalls::number,
    native::Natives,
};
use blockmill_neo::params::Protocol;
use blockmill_neo::rule::Rule;
use blockmill_neo::state::{Base, State};
use blockmill_neo::types::{Block, SingleTransaction, UInt160, UInt256, write};
use blockmill_neo::witness::{Checked, Verdict};

/// Instructions.
const PUSH0: u8 = 0x10;
const PUSH1: u8 = 0x11;
const PUSH2: u8 = 0x12;
const ABORT: u8 = 0x38;
const PUSHDATA1: u8 = 0x0c;
const INITSLOT: u8 = 0x57;
const SYSCALL: u8 = 0x41;
const DROP: u8 = 0x45;
/// The types of attributes.
const HIGH_PRIORITY: &[u8] = &[0x01];
const CONFLICTS: u8 = 0x21;

/// A transaction; its one signer has the account of the verification script.
#[derive(Clone)]
struct Draft {
    nonce: u32,
    network_fee: i64,
    until: u32,
    attributes: Vec<Vec<u8>>,
    script: Vec<u8>,
    invocation: Vec<u8>,
    verification: Vec<u8>,
    account: Option<UInt160>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            nonce: 1,
            network_fee: 10_000_000,
            until: 5,
            attributes: vec![],
            script: vec![PUSH1],
            invocation: vec![],
            verification: vec![PUSH1],
            account: None,
        }
    }
}

impl Draft {
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![0];
        out.extend(self.nonce.to_le_bytes());
        out.extend(0_i64.to_le_bytes());
        out.extend(self.network_fee.to_le_bytes());
        out.extend(self.until.to_le_bytes());
        let account = self.account.unwrap_or(UInt160::of_script(&self.verification));
        out.push(1);
        out.extend(account.0);
        out.push(0);
        out.push(self.attributes.len() as u8);
        self.attributes.iter().for_each(|attribute| out.extend(attribute));
        write::string(&mut out, &self.script);
        out.push(1);
        write::string(&mut out, &self.invocation);
        write::string(&mut out, &self.verification);
        out
    }

    fn hash(&self) -> UInt256 {
        SingleTransaction::decode(self.encode()).unwrap().get().hash()
    }
}

/// The rule that rejects the last of these transactions in block 1.
fn refused(drafts: &[Draft], verdict: Verdict, view: ChainView) -> Option<Rule> {
    let text = blockmill_testkit::read(Dump::CHAIN50.config);
    let protocol = Protocol::from_yaml(std::str::from_utf8(&text).unwrap()).unwrap();
    let chain = Chain { protocol, natives: Natives::default(), view };
    let (mut executor, mut vm) = (Executor::default(), machine());
    let mut state = State::new(Base::default());
    let blocks = dumps::blocks(Dump::CHAIN50);
    executor.execute(&mut vm, &chain, &mut state, &blocks[0]).unwrap();
    let mut raw = blocks[1].raw[..blocks[1].header_length()].to_vec();
    write::number(&mut raw, drafts.len() as u64);
    drafts.iter().for_each(|draft| raw.extend(draft.encode()));
    let mut block = Block { raw, ..Block::default() };
    block.decode(false, &ManySha256::detect()).unwrap();
    let checked =
        |draft: &Draft| Checked { script_hash: UInt160::of_script(&draft.verification), verdict };
    let checked: Vec<Checked> = drafts.iter().map(checked).collect();
    let (executor, vm) = (&mut executor, &mut vm);
    let mut verifier =
        TransactionVerifier { chain: &chain, before: &blocks[0], state: &mut state, executor, vm };
    let outcome = verifier.verify(&block, &checked);
    // verification leaves no changes
    assert!(state.end_block().is_empty());
    outcome.err().map(|violation| violation.rule)
}

/// A sender without GAS is rejected by the last check, so all others passed.
const RIGHT: Option<Rule> = Some(Rule::Funds);

fn one(draft: Draft) -> Option<Rule> {
    refused(&[draft], Verdict::Machine, ChainView::empty())
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn witnesses_of_any_form_are_run() {
    let with = |invocation: &[u8], verification: &[u8]| {
        let (invocation, verification) = (invocation.to_vec(), verification.to_vec());
        one(Draft { invocation, verification, ..Draft::default() })
    };
    let wrong = Some(Rule::Witness);
    assert_eq!(with(&[], &[PUSH1]), RIGHT);
    assert_eq!(with(&[PUSH1], &[0x21]), RIGHT, "what the first pushes the second finds");
    assert_eq!(with(&[PUSH0], &[0x21]), wrong);
    assert_eq!(with(&[], &[PUSH0]), wrong);
    assert_eq!(with(&[], &[ABORT]), wrong);
    assert_eq!(with(&[PUSH2], &[PUSH1]), wrong, "one item too many");
    assert_eq!(with(&[], &[0x21]), wrong, "and none");
    assert_eq!(with(&[], &[PUSHDATA1, 7]), wrong, "a script that is cut short");
    assert_eq!(with(&[INITSLOT], &[PUSH1]), wrong);
    // GetTime fails without a block; calls that need no block succeed
    let asks = |what: &str| {
        let call = [&[SYSCALL][..], &number(what).to_le_bytes(), &[DROP, PUSH1]].concat();
        with(&[], &call)
    };
    assert_eq!(asks("System.Runtime.GetTime"), wrong);
    assert_eq!(asks("System.Runtime.GetNetwork"), RIGHT);
    // an absent contract; a native one, which only verifies its own purposes
    let nobody =
        Draft { verification: vec![], account: Some(UInt160([7; 20])), ..Draft::default() };
    assert_eq!(one(nobody.clone()), wrong);
    let gas = "0xd2a4cff31913016155e38e474a2c06d08be276cf".parse().unwrap();
    assert_eq!(one(Draft { account: Some(gas), ..nobody.clone() }), wrong);
    let oracle = "0xfe924b7cfe89ddd271abaf7210a80a7e11178758".parse().unwrap();
    assert_eq!(one(Draft { account: Some(oracle), ..nobody }), wrong, "no answer");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_malformed_key_fails_where_neo_go_tries_it() {
    let text = blockmill_testkit::read(Dump::CHAIN50.config);
    let magic = Protocol::from_yaml(std::str::from_utf8(&text).unwrap()).unwrap().magic;
    let with = |bad: Option<usize>, signers: [usize; 2]| {
        // the account is that of the script, and the hash covers it
        let (_, verification) = with_malformed_key(UInt256::ZERO, magic, bad, signers);
        let mut draft = Draft { verification, ..Draft::default() };
        (draft.invocation, _) = with_malformed_key(draft.hash(), magic, bad, signers);
        one(draft)
    };
    assert_eq!(with(None, [0, 2]), RIGHT);
    assert_eq!(with(None, [2, 0]), Some(Rule::Witness));
    // keys between the signers are not tried, the first and the last one are
    assert_eq!(with(Some(1), [0, 3]), RIGHT);
    assert_eq!(with(Some(1), [2, 3]), Some(Rule::Witness));
    assert_eq!(with(Some(3), [0, 1]), Some(Rule::Witness));
    assert_eq!(with(Some(0), [2, 3]), Some(Rule::Witness));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn fees_pay_for_bytes_attributes_and_witnesses() {
    let size = Draft::default().encode().len() as i64;
    let exact = Draft { network_fee: size * 1000, ..Draft::default() };
    assert_eq!(
        one(Draft { network_fee: size * 1000 - 1, ..exact.clone() }),
        Some(Rule::NetworkFee)
    );
    // no gas is left for the single instruction, which costs 30
    assert_eq!(one(exact.clone()), Some(Rule::Witness));
    assert_eq!(one(Draft { network_fee: size * 1000 + 30, ..exact.clone() }), RIGHT);
    let units = Verdict::Valid { units: 1 << 15 };
    let standard = |fee: i64| {
        let draft = Draft { network_fee: size * 1000 + fee, ..Draft::default() };
        refused(&[draft], units, ChainView::empty())
    };
    assert_eq!(standard(30 << 15), RIGHT);
    assert_eq!(standard((30 << 15) - 1), Some(Rule::WitnessFee));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn scripts_heights_and_attributes_have_rules() {
    let draft = Draft::default();
    assert_eq!(one(Draft { script: vec![0xff], ..draft.clone() }), Some(Rule::Script));
    assert_eq!(one(Draft { until: u32::MAX, ..draft.clone() }), Some(Rule::ValidUntilIncrement));
    let high = Draft { attributes: vec![HIGH_PRIORITY.to_vec()], ..draft.clone() };
    assert_eq!(one(high), Some(Rule::HighPriority));
    // a response to an unknown request
    let answer = [&[0x11][..], &7_u64.to_le_bytes(), &[0, 0]].concat();
    let answer = Draft { attributes: vec![answer], ..draft };
    assert_eq!(one(answer), Some(Rule::OracleResponse));
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_stored_transaction_is_not_admitted_again() {
    let draft = Draft::default();
    let stored = |hash: UInt256| ChainView {
        height: Box::new(move |asked| (asked == hash).then_some(0)),
        ..ChainView::empty()
    };
    let drafts = [draft.clone()];
    let rule = refused(&drafts, Verdict::Machine, stored(draft.hash()));
    assert_eq!(rule, Some(Rule::StoredTransaction));
    // a stored transaction names it, and has the same signer or another one
    let named = |height: u32, account: UInt160| ChainView {
        conflict: Box::new(move |(_, signer)| (signer == account).then_some(height)),
        ..ChainView::empty()
    };
    let account = UInt160::of_script(&draft.verification);
    let rule = refused(&drafts, Verdict::Machine, named(0, account));
    assert_eq!(rule, Some(Rule::Conflict));
    let rule = refused(&drafts, Verdict::Machine, named(0, UInt160([9; 20])));
    assert_eq!(rule, RIGHT);
    let other = [&[CONFLICTS][..], &[3; 32]].concat();
    let naming = Draft { attributes: vec![other], ..draft };
    assert_eq!(one(naming), RIGHT);
}
