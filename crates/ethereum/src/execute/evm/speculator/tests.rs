//! Speculative execution compared with in-order execution.

use super::*;
use crate::Address;
use crate::execute::Evm;
use crate::execute::evm::Environment;
use crate::params::CodeLimits;
use crate::params::genesis::GenesisAccount;
use blockmill_rlp::ethereum::TransactionType;
use revm::context::TxEnv;
use revm::primitives::TxKind;

const SENDER: Address = [1; 20];
const CONTRACT: Address = [2; 20];
const ENDING: Address = [3; 20];

fn account(address: Address, code: &[u8]) -> GenesisAccount {
    let balance = U256::from(10).pow(U256::from(18));
    GenesisAccount { address, balance, nonce: 0, code: code.to_vec(), storage: vec![] }
}

fn terms(beneficiary: Address) -> BlockTerms {
    BlockTerms {
        fork: Fork::Shanghai,
        number: 1,
        beneficiary,
        timestamp: 12,
        gas_limit: 30_000_000,
        base_fee: U256::from(7),
        difficulty: U256::ZERO,
        mix_hash: [0; 32],
        blob_fee: None,
        code: CodeLimits::default(),
        slot: 0,
    }
}

fn call(to: Address) -> PreparedTransaction {
    let environment = TxEnv {
        caller: SENDER.into(),
        gas_limit: 100_000,
        gas_price: 100,
        kind: TxKind::Call(to.into()),
        ..TxEnv::default()
    };
    let (kind, gas_limit) = (TransactionType::Legacy, environment.gas_limit);
    let environment = Some(Environment(environment));
    PreparedTransaction { kind, sender: SENDER, gas_limit, environment, wide: None }
}

/// The balances after a call, and the number of committed speculations.
fn after(to: Address, beneficiary: Address, early: bool) -> (Vec<(Address, U256)>, u64) {
    // the contracts: stop; caller selfdestruct
    let accounts = [account(SENDER, &[]), account(CONTRACT, &[0]), account(ENDING, &[0x33, 0xff])];
    let state = RwLock::new(State::from_accounts(&accounts).unwrap());
    let prefetched = PrefetchedIndex::default();
    let speculation = early.then(|| {
        let mut speculator =
            Speculator::new((&state, &prefetched), U256::ONE, MachineOptions::default());
        speculator.begin(&terms(beneficiary), &state).unwrap();
        match speculator.start(&call(to)) {
            Progress::Ends(speculation) => speculation,
            Progress::Hashes => unreachable!("it is alone"),
        }
    });
    let mut state = state.into_inner().unwrap();
    let mut evm = Evm::new(&mut state, U256::ONE);
    evm.begin(&terms(beneficiary)).unwrap();
    evm.set_speculations(speculation.into_iter().collect());
    assert!(evm.transact(&call(to)).unwrap().success);
    let committed = evm.take_tally().committed;
    evm.commit_block().unwrap();
    drop(evm);
    let mut found: Vec<_> = state.accounts().map(|(_, a, b)| (*a, b.balance)).collect();
    found.sort_unstable();
    (found, committed)
}

#[test]
fn fees_equal_in_order_execution_even_if_the_beneficiary_self_destructs() {
    for (to, beneficiary, committed) in [
        (CONTRACT, [9; 20], 1),
        (CONTRACT, SENDER, 1),
        (CONTRACT, CONTRACT, 1),
        (ENDING, [9; 20], 1),
        (ENDING, ENDING, 0),
    ] {
        let (early, plain) = (after(to, beneficiary, true), after(to, beneficiary, false));
        assert_eq!(early.0, plain.0, "{to:?} {beneficiary:?}");
        assert_eq!((early.1, plain.1), (committed, 0), "{to:?} {beneficiary:?}");
    }
}

/// Code that hashes `times` a message of `length` bytes that begins with the last digest, and
/// stores the last digest.
fn hashes(times: u8, length: u8) -> Vec<u8> {
    let mut code = vec![0x60, times, 0x5b, 0x60, length];
    code.extend(hex("60002060005260019003806002576000516000 5500"));
    code
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// The speculation of a call, and its number of steps.
fn speculate(state: &RwLock<State>, to: Address, together: bool) -> (Box<Speculation>, usize) {
    let prefetched = PrefetchedIndex::default();
    let mut speculator =
        Speculator::new((state, &prefetched), U256::ONE, MachineOptions::default());
    speculator.begin(&terms([9; 20]), state).unwrap();
    speculator.hashes_together(together);
    let mut progress = speculator.start(&call(to));
    for steps in 1.. {
        match progress {
            Progress::Ends(speculation) => return (speculation.unwrap(), steps),
            Progress::Hashes => {
                progress = speculator.resume(&blockmill_hashes::keccak256(speculator.message()));
            }
        }
    }
    unreachable!("gas ends")
}

#[test]
fn a_transaction_that_stops_at_hashes_has_the_same_result() {
    let called = [7; 20];
    let nested = format!("{0}{0}602060002060005500", "6000600060006000600073CALLED5af150")
        .replace("CALLED", &"07".repeat(20));
    for (code, steps, success) in [
        (hashes(1, 32), 2, true),
        (hashes(9, 255), 10, true),
        (hashes(20, 0), 21, true),
        // two calls of a contract that hashes three times
        (hex(&nested), 8, true),
        // hash, revert
        (hex("60206000206000526020 6000fd"), 2, false),
        // the message is too far, or too long, or not there
        (hex(&format!("60017f{}20", "ff".repeat(32))), 1, false),
        (hex("63ffffffff600020"), 1, false),
        (hex("600020"), 1, false),
        // hashes until there is no gas
        (hex("5b60ff6000205060005600"), 0, false),
    ] {
        let accounts =
            [account(SENDER, &[]), account(CONTRACT, &code), account(called, &hashes(3, 64))];
        let state = RwLock::new(State::from_accounts(&accounts).unwrap());
        let (alone, one) = speculate(&state, CONTRACT, false);
        let (together, many) = speculate(&state, CONTRACT, true);
        assert_eq!((one, many == steps), (1, steps != 0), "{many} steps of {code:02x?}");
        assert!(many > 500 || steps != 0, "{many} steps");
        assert_eq!(together.changed, alone.changed, "{code:02x?}");
        let mut state = state.into_inner().unwrap();
        let mut evm = Evm::new(&mut state, U256::ONE);
        evm.begin(&terms([9; 20])).unwrap();
        let in_order = evm.transact(&call(CONTRACT)).unwrap();
        for outcome in [&alone.outcome, &together.outcome, &in_order] {
            assert_eq!((outcome.success, outcome.gas_used), (success, in_order.gas_used));
        }
    }
}
