//! A state with a tiny cache compared with a state in memory.

use crate::execute::Code;
use crate::state::{
    Account, DiskOptions, DiskState, FlatStore, SharedState, State, StateKind, Tries,
};
use crate::{Address, U256};
use blockmill_pipeline::options::NamedOption;
use blockmill_state_store::StateKey;
use blockmill_store::{Store, StoreOptions};
use blockmill_testkit::{Random, rounds};
use std::collections::VecDeque;

/// A state on disk in a folder of its own, and the store that it is a part of.
fn on_disk(
    kind: StateKind,
    flat_store: FlatStore,
    folder: &std::path::Path,
) -> (Store, SharedState) {
    let mut opening = Store::open(folder, &StoreOptions::default()).unwrap();
    let options = DiskOptions { memory_bytes: 1 << 15, flat_store, ..DiskOptions::DEFAULT };
    let state = DiskState::open(&mut opening, folder, kind, &options).unwrap().unwrap();
    (opening.finish().unwrap().0, SharedState::new(state))
}

fn address(random: &mut Random) -> Address {
    let mut address = [0; 20];
    address[..1].copy_from_slice(&[random.below(40u8)]);
    address
}

fn key(address: &Address, slot: &U256) -> StateKey {
    StateKey::slot(
        blockmill_hashes::keccak256(address),
        blockmill_hashes::keccak256(&slot.to_be_bytes::<32>()),
    )
}

/// Changes both states in the same way, as a block does: a slot is read before it is set.
fn change(states: &mut [State; 2], random: &mut Random) {
    let (address, slots) = (address(random), random.below(6u64));
    let what = random.below(12u64);
    let (nonce, balance) = (1 + random.below(3u64), U256::from(random.below(1_000u64)));
    let code = Code::new(vec![random.below(9u64) as u8 + 1; 1 + random.below(60u64) as usize]);
    let keys: Vec<_> = (0..slots)
        .map(|_| (U256::from(random.below(400u64)), U256::from(random.below(3u64))))
        .collect();
    for state in states {
        let before = state.account(&address).unwrap().map(|found| found.1);
        if what == 0 {
            let id = state.set_account(&address, None, None).unwrap();
            state.clear_slots(id);
            continue;
        }
        let code_hash = before.map_or(code.hash(), |account| account.code_hash);
        let account = Account { nonce, balance, code_hash };
        let id = state.set_account(&address, Some(account), Some(code.clone())).unwrap();
        if what == 1 {
            state.clear_slots(id);
        }
        for (slot, value) in &keys {
            state.slot(id, slot).unwrap();
            state.set_slot(id, *slot, *value);
        }
    }
}

/// Compares an account, its code and some of its slots in both states.
fn compare(states: &mut [State; 2], random: &mut Random) {
    let address = address(random);
    let slots: Vec<_> = (0..5).map(|_| U256::from(random.below(400u64))).collect();
    let found = states.each_mut().map(|state| {
        let peeked = state.peek_account(&address, |found, _| found.1).unwrap();
        let peeked_slots =
            slots.iter().map(|slot| state.peek_slot(&address, slot, |_| None).unwrap());
        let peeked_slots: Vec<_> = peeked_slots.collect();
        let found = state.account(&address).unwrap().map(|(id, account, _)| (id, account));
        let code = found.map(|(_, account)| state.load_code(&account.code_hash).unwrap().hash());
        let asked: Vec<_> = match found {
            Some((id, _)) => slots.iter().map(|slot| state.slot(id, slot).unwrap()).collect(),
            None => vec![U256::ZERO; slots.len()],
        };
        assert_eq!(peeked, found.map(|found| found.1));
        assert_eq!(asked, if found.is_some() { peeked_slots } else { asked.clone() });
        (peeked, code, asked)
    });
    assert_eq!(found[0], found[1]);
}

#[test]
fn dropped_entries_are_read_back_unchanged() {
    let flat = FlatStore::available().map(|flat| (StateKind::FlatTrie, flat));
    for (kind, flat) in flat.chain([(StateKind::Pages, FlatStore::Tables)]) {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, disk) = on_disk(kind, flat, folder.path());
        let mut states = [State::default(), State::on_disk(disk.clone())];
        let mut tries = [Tries::arena().unwrap(), Tries::on_disk(disk.clone(), <_>::default())];
        let mut random = Random::new(16);
        let (mut unrooted, mut read, mut cached) = (VecDeque::new(), VecDeque::new(), 0);
        for _ in 0..rounds(1_500) {
            // another thread reads slots, which are cached later
            for _ in 0..random.below(12u64) {
                let (address, slot) = (address(&mut random), U256::from(random.below(400u64)));
                // from the state in memory, or from disk, where the value may be older
                let (generation, on_disk) = (disk.generation(), random.below(2u64) == 0);
                let value = match on_disk {
                    true => disk.slots(&[key(&address, &slot)]).unwrap()[0],
                    false => states[1].peek_slot(&address, &slot, |_| None).unwrap(),
                };
                read.push_back((generation, on_disk, address, slot, value));
            }
            states[1].advance_generation();
            while read.len() as u64 > random.below(20u64) {
                let Some((generation, on_disk, address, slot, value)) = read.pop_front() else {
                    break;
                };
                if on_disk && states[1].generation() != generation {
                    continue;
                }
                // a peek uses the value that was read unless a newer one is in memory
                let peeked = states[1].peek_slot(&address, &slot, |_| on_disk.then_some(value));
                assert_eq!(peeked.unwrap(), states[0].slot_at(&address, &slot));
                states[1].account(&address).unwrap();
                let before = states[1].generations.units;
                states[1].cache_slots([(&address, slot, value)], generation).unwrap();
                cached += states[1].generations.units - before;
            }
            for _ in 0..1 + random.below(6u64) {
                change(&mut states, &mut random);
                compare(&mut states, &mut random);
            }
            unrooted.push_back(states.each_mut().map(State::take_changes));
            // the roots come some blocks later
            while unrooted.len() as u64 > random.below(7u64) {
                let Some([whole, part]) = unrooted.pop_front() else { break };
                let cleared = tries[1].cleared_storage([&part]).unwrap();
                assert!(cleared.len() <= part.cleared.len());
                let roots = [tries[0].apply(&whole), tries[1].apply(&part)];
                assert_eq!(roots[0].as_ref().unwrap(), roots[1].as_ref().unwrap());
            }
            let mut state = disk.write();
            if state.wants_commit() || random.below(200u64) == 0 {
                state.commit_with(vec![], |parts| store.commit(parts, b"")).unwrap();
            }
        }
        assert!(cached > rounds(50), "{}: {cached} slots were cached", kind.name());
        let number = states[1].generations.number();
        assert!(number > rounds(20) as u64, "{}: {number} generations", kind.name());
    }
}
