//! Snapshots that are written and verified, damaged ones, and ones that lie with the right sums.

use super::*;
use crate::U256;
use crate::params::genesis::GenesisAccount;
use crate::state::{EMPTY_CODE, State};
use blockmill_pipeline::Cancel;
use blockmill_rlp::Encode;
use blockmill_rlp::ethereum::Account as Leaf;
use blockmill_testkit::Random;
use std::fs;
use tempfile::NamedTempFile;

/// Accounts, some with code and some with slots, one of them with many.
fn made(random: &mut Random, accounts: usize, many: usize) -> Vec<GenesisAccount> {
    let mut all = vec![];
    for n in 0..accounts {
        let mut address = [0; 20];
        random.fill(&mut address);
        let code = match random.below(3_u8) {
            0 => vec![n as u8 % 5; 1 + random.below(40_usize)],
            _ => vec![],
        };
        let slots = match n {
            0 => many,
            _ if random.coin() => 0,
            _ => random.below(30_usize),
        };
        let word = |random: &mut Random| {
            let mut word = [0; 32];
            let length = 1 + random.below(32_usize);
            random.fill(&mut word[32 - length..]);
            word[31] |= 1;
            word
        };
        let storage = (0..slots).map(|_| (word(random), word(random))).collect();
        let balance = U256::from(random.any_length());
        all.push(GenesisAccount { address, balance, nonce: random.any_length(), code, storage });
    }
    all
}

/// The root of a state by the definition.
fn root_of(state: &State) -> Hash {
    blockmill_trie::secure_root(state.accounts().map(|(id, address, account)| {
        let slots = state.slots(id).map(|(slot, value)| (slot.to_be_bytes::<32>(), value.encode()));
        let (storage_root, code_hash) = (&blockmill_trie::secure_root(slots), &account.code_hash);
        let (nonce, balance) = (account.nonce, account.balance);
        (*address, Leaf { nonce, balance, storage_root, code_hash }.encode())
    }))
}

fn head_of(state: &State) -> Head {
    let state_root = root_of(state);
    Head { chain_id: 1, genesis: [1; 32], number: 7, hash: [2; 32], state_root }
}

fn written(state: &State, head: &Head) -> (Vec<u8>, Written) {
    let mut bytes = vec![];
    let written = write(state, head, &mut bytes, &Cancel::default()).unwrap().unwrap();
    assert_eq!((written.bytes, written.state_root), (bytes.len() as u64, head.state_root));
    (bytes, written)
}

fn verified(bytes: &[u8], threads: usize) -> Result<Verified, SnapshotError> {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    verify(file.path(), threads, &Cancel::default(), |_| ())
}

/// What is wrong with a file: the account and the words.
fn fault(bytes: &[u8]) -> (Option<Address>, String) {
    match verified(bytes, 1) {
        Err(SnapshotError::Corrupt { account, offset, expected, found, .. }) => {
            assert!(offset <= bytes.len() as u64, "{offset}");
            (account, format!("expected {expected}, found {found}"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_written_is_verified_whatever_the_frames() {
    let mut random = Random::new(5);
    for (accounts, many) in [(0, 0), (1, 0), (1, 3), (2, 1), (40, 9_000), (3_000, 60_000), (17, 0)]
    {
        let state = State::from_accounts(&made(&mut random, accounts, many)).unwrap();
        let head = head_of(&state);
        let (bytes, written) = written(&state, &head);
        assert_eq!(written.counts.accounts, accounts as u64);
        let mut again = State::default();
        let mut slots = vec![];
        let mut take = |entry: Entry<'_>| {
            match entry {
                Entry::Code(hash, code) => {
                    let code = crate::execute::Code::new(code.to_vec());
                    assert_eq!(code.hash(), *hash);
                    again.restore_code(code);
                }
                Entry::Account(address, account) => {
                    let id = again.restore_account(address, Some(*account)).unwrap();
                    slots.drain(..).for_each(|(of, slot, value)| {
                        assert_eq!(of, *address);
                        again.restore_slot(id, slot, value);
                    });
                }
                Entry::Slot(address, slot, value) => slots.push((*address, slot, value)),
            }
            Ok(())
        };
        let cancel = Cancel::default();
        read(Path::new("x"), &bytes[..], 1, &cancel, |_| (), &mut take).unwrap();
        assert_eq!(root_of(&again), head.state_root);
        assert!(again.codes().count() == state.codes().count());
        for threads in [0, 1, 3] {
            let found = verified(&bytes, threads).unwrap();
            assert_eq!((found.head, found.counts), (head, written.counts), "{accounts}, {many}");
            assert_eq!(found.bytes, bytes.len() as u64);
        }
        let frames = bytes.len() / FRAME;
        assert_eq!(frames > 8, many == 60_000, "{frames} frames");
    }
}

#[test]
fn any_damage_is_found_and_named() {
    let mut random = Random::new(6);
    let state = State::from_accounts(&made(&mut random, 60, 9_000)).unwrap();
    let (bytes, _) = written(&state, &head_of(&state));
    for round in 0..600 {
        let mut damaged = bytes.clone();
        // heads of frames are few, and the beginning has one
        let at = random.below(if round % 2 == 0 { bytes.len() } else { HEAD + FRAME_HEAD + 40 });
        damaged[at] ^= 1 << random.below(8_u8);
        fault(&damaged);
        damaged[at] = bytes[at];
        let cut = random.below(bytes.len());
        fault(&bytes[..cut]);
        // a stretch that is there twice, or not
        let length = 1 + random.below(300_usize).min(bytes.len() - cut - 1);
        let more = [&bytes[..cut], &bytes[cut..cut + length], &bytes[cut..]].concat();
        fault(&more);
        fault(&[&bytes[..cut], &bytes[cut + length..]].concat());
    }
    let (_, found) = fault(&[&bytes[..], &[0]].concat());
    assert_eq!(found, "expected the end of the file, found more bytes");
}

/// A file of these frames, whose sums and heads are right.
fn forged(head: &Head, frames: &[(FrameKind, Position, Position, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = head.encode().to_vec();
    for (kind, first, last, payload) in frames {
        let length = payload.len() as u32;
        let (kind, first, last) = (*kind, *first, *last);
        bytes.extend(FrameHead { kind, length, first, last, sum: 0 }.encode(payload));
        bytes.extend(payload);
    }
    bytes
}

/// The frames of a file.
fn frames_of(mut bytes: &[u8]) -> Vec<(FrameKind, Position, Position, Vec<u8>)> {
    bytes = &bytes[HEAD..];
    let mut frames = vec![];
    while let Some((head, rest)) = bytes.split_first_chunk() {
        let FrameHead { kind, first, last, length, .. } = FrameHead::decode(head).unwrap();
        let (payload, rest) = rest.split_at(length as usize);
        frames.push((kind, first, last, payload.to_vec()));
        bytes = rest;
    }
    frames
}

#[test]
fn a_state_that_is_another_one_is_refused_though_its_sums_are_right() {
    let mut random = Random::new(7);
    let state = State::from_accounts(&made(&mut random, 30, 12_000)).unwrap();
    let head = head_of(&state);
    let (bytes, _) = written(&state, &head);
    let frames = frames_of(&bytes);
    assert_eq!(forged(&head, &frames), bytes);
    let kinds: Vec<_> = frames.iter().map(|frame| frame.0).collect();
    let slots = kinds.iter().position(|kind| *kind == FrameKind::Slots).unwrap();

    let other = Head { state_root: [9; 32], ..head };
    let (account, words) = fault(&forged(&other, &frames));
    assert!(account.is_none() && words.starts_with("expected the state root 0x0909"), "{words}");

    let mut cut = frames.clone();
    cut.remove(0);
    let (account, words) = fault(&forged(&head, &cut));
    assert!(account.is_some() && words.ends_with("no such code before it"), "{words}");

    let mut cut = frames.clone();
    cut.remove(slots);
    let (account, words) = fault(&forged(&head, &cut));
    assert!(account.is_some() && words.contains("slots with the root"), "{words}");

    let mut twice = frames.clone();
    twice.insert(slots, frames[slots].clone());
    let (_, words) = fault(&forged(&head, &twice));
    assert!(words.contains("more slots of"), "{words}");

    let mut ended = frames.clone();
    ended.truncate(slots + 1);
    ended.push(frames[frames.len() - 1].clone());
    let (_, words) = fault(&forged(&head, &ended));
    assert!(words.contains("more slots of"), "{words}");

    // the last byte of a frame of slots is one of a value
    let mut changed = frames.clone();
    *changed[slots].3.last_mut().unwrap() ^= 2;
    let (account, words) = fault(&forged(&head, &changed));
    assert!(account.is_some() && words.contains("slots with the root"), "{words}");

    let mut moved = frames.clone();
    moved[slots].2.slot[31] ^= 1;
    let (_, words) = fault(&forged(&head, &moved));
    assert!(words.contains("as its head says"), "{words}");

    let mut counted = frames.clone();
    counted.last_mut().unwrap().3[0] ^= 1;
    let (_, words) = fault(&forged(&head, &counted));
    assert!(words.ends_with("other numbers"), "{words}");
}

/// A frame of accounts without slots, whose keys are in this order.
fn accounts(addresses: &[Address]) -> (FrameKind, Position, Position, Vec<u8>) {
    let mut payload = vec![];
    for address in addresses {
        payload.extend(address);
        crate::commit::executed_store::put_account(
            &crate::state::Account { nonce: 1, balance: U256::ZERO, code_hash: EMPTY_CODE },
            &mut payload,
        );
        payload.push(0);
    }
    let at =
        |address: &Address| Position { key: blockmill_hashes::keccak256(address), slot: [0; 32] };
    let (first, last) = (at(&addresses[0]), at(&addresses[addresses.len() - 1]));
    (FrameKind::Accounts, first, last, payload)
}

#[test]
fn keys_that_do_not_ascend_are_refused() {
    let mut random = Random::new(8);
    let mut addresses: Vec<Address> = (0..4).map(|n| [n; 20]).collect();
    addresses.sort_by_key(|address| blockmill_hashes::keccak256(address));
    let end = |accounts| {
        let counts = Counts { accounts, ..Counts::default() };
        (FrameKind::End, Position::default(), Position::default(), counts.encode())
    };
    let given: Vec<GenesisAccount> = addresses
        .iter()
        .map(|address| GenesisAccount {
            address: *address,
            balance: U256::ZERO,
            nonce: 1,
            code: vec![],
            storage: vec![],
        })
        .collect();
    let head = head_of(&State::from_accounts(&given).unwrap());
    assert!(verified(&forged(&head, &[accounts(&addresses), end(4)]), 0).is_ok());
    let split = [accounts(&addresses[..1]), accounts(&addresses[1..]), end(4)];
    assert!(verified(&forged(&head, &split), 0).is_ok());
    for _ in 0..40 {
        let mut mixed = addresses.clone();
        let (a, b) = (random.below(4_usize), random.below(4_usize));
        mixed[a] = mixed[b];
        if a == b {
            mixed.swap(a, (a + 1) % 4);
        }
        let (_, words) = fault(&forged(&head, &[accounts(&mixed), end(4)]));
        assert!(words.contains("above") || words.contains("at most"), "{words}");
        let cut = 1 + random.below(3_usize);
        let frames = [accounts(&mixed[..cut]), accounts(&mixed[cut..]), end(4)];
        let (_, words) = fault(&forged(&head, &frames));
        assert!(words.contains("above") || words.contains("at most"), "{words}");
    }
}
