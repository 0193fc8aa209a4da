//! Predictions for calls of a token.

use super::*;

const TOKEN: Address = [0x70; 20];
const TRANSFER: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];

fn address(n: u64) -> Address {
    let mut address = [0; 20];
    address[12..].copy_from_slice(&(n + 1_000).to_be_bytes());
    address
}

fn word(address: &Address) -> Hash {
    let mut word = [0; 32];
    word[12..].copy_from_slice(address);
    word
}

/// Key and base, and their hash.
fn entry(key: &Address, base: U256) -> ([u8; 64], U256) {
    let mut message = [0; 64];
    message[..32].copy_from_slice(&word(key));
    message[32..].copy_from_slice(&base.to_be_bytes::<32>());
    (message, U256::from_be_bytes(blockmill_hashes::keccak256(&message)))
}

fn input(function: [u8; 4], arguments: &[Address]) -> Vec<u8> {
    let words: Vec<u8> = arguments.iter().flat_map(word).collect();
    [&function[..], &words].concat()
}

fn predicted(history: &History, sender: &Address, input: &[u8]) -> Vec<Slot> {
    let call = Call { to: &TOKEN, sender, input };
    let found = history.predict(ManyKeccak::detect(), [call].into_iter());
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Records a call that spends what another account allows, in tables of the bases 3 and
/// 5, and the second member of a structure of the sender's; and one slot of its own.
fn spend(history: &History, n: u64) -> (Address, Vec<u8>, Vec<Slot>) {
    let [sender, owner, to] = [3 * n, 3 * n + 1, 3 * n + 2].map(address);
    let input = input(TRANSFER, &[owner, to]);
    let allowed = entry(&owner, U256::from(5));
    let hashed = [
        entry(&owner, U256::from(3)),
        entry(&to, U256::from(3)),
        allowed,
        entry(&sender, allowed.1),
        entry(&sender, U256::from(9)),
        // a key that the call does not have
        entry(&address(1 << 40 | n), U256::from(3)),
    ];
    let mut slots: Vec<Slot> = [0, 1, 3, 5].map(|i| (TOKEN, hashed[i].1)).to_vec();
    slots.extend([(TOKEN, U256::from(7)), (TOKEN, hashed[4].1 + U256::ONE)]);
    history.record(&Call { to: &TOKEN, sender: &sender, input: &input }, &slots, &hashed);
    slots.remove(3);
    slots.sort_unstable();
    (sender, input, slots)
}

#[test]
fn slots_of_mappings_and_constant_slots_are_predicted_exactly() {
    let history = History::default();
    let (sender, input, _) = spend(&history, 0);
    assert_eq!(predicted(&history, &sender, &input), [], "once is no habit");
    spend(&history, 1);
    // the slots of a call of other accounts, before it was executed
    let other = History::default();
    let (sender, input, slots) = spend(&other, 77);
    assert_eq!(predicted(&history, &sender, &input), slots);
    let short = &input[..4 + 32];
    let fewer = predicted(&history, &sender, short);
    assert_eq!(fewer.len(), slots.len() - 1, "no receiver");
    assert!(fewer.iter().all(|slot| slots.contains(slot)));
    // another function has no history
    assert_eq!(predicted(&history, &sender, &[[1; 4].as_slice(), &input[4..]].concat()), []);
}

#[test]
fn patterns_that_do_not_recur_are_dropped() {
    let history = History::default();
    (0..9).for_each(|n| _ = spend(&history, n));
    let (sender, input, slots) = spend(&history, 9);
    assert_eq!(predicted(&history, &sender, &input), slots);
    let call = Call { to: &TOKEN, sender: &sender, input: &input };
    for left in [true, false] {
        history.record(&call, &[], &[]);
        assert_eq!(!predicted(&history, &sender, &input).is_empty(), left);
    }
    history.record(&call, &[], &[]);
    assert!(history.table().current.is_empty() && history.table().bytes == 0);
}

#[test]
fn a_kind_of_calls_has_few_patterns_and_keeps_recurring_ones() {
    let history = History::default();
    let (sender, input) = (address(0), input(TRANSFER, &[]));
    let call = Call { to: &TOKEN, sender: &sender, input: &input };
    for n in 0..100 {
        // some that never come again, in front of one that does
        let never = (1..=30).map(|i| (TOKEN, U256::from(100 * n + i)));
        let slots: Vec<Slot> = [(TOKEN, U256::ZERO)].into_iter().chain(never).collect();
        history.record(&call, &slots, &[]);
        assert_eq!(history.table().current.values().map(Vec::len).sum::<usize>(), PATTERNS);
    }
    assert_eq!(predicted(&history, &sender, &input), [(TOKEN, U256::ZERO)]);
}

#[test]
fn memory_is_bounded_and_frequent_calls_stay() {
    let history = History::default();
    let (sender, slots) = (address(0), (0..9).map(|i| (TOKEN, U256::from(i))));
    let slots: Vec<Slot> = slots.collect();
    let often = input(TRANSFER, &[]);
    for n in 0..20_000_u32 {
        if n % 100 == 0 {
            history.record(&Call { to: &TOKEN, sender: &sender, input: &often }, &slots, &[]);
        }
        let rare = input(n.to_be_bytes(), &[]);
        history.record(&Call { to: &TOKEN, sender: &sender, input: &rare }, &slots, &[]);
        let table = history.table();
        let all = table.current.values().chain(table.previous.values());
        let held: usize = all.map(bytes).sum();
        assert!(held <= MOST, "{held}");
        assert_eq!(table.bytes, table.current.values().map(bytes).sum::<usize>());
    }
    assert_eq!(predicted(&history, &sender, &often), slots);
}

#[test]
fn prefetched_slots_are_valid_in_their_generation_only() {
    let slot = |n: u64| (address(n % 7), U256::from(n / 2));
    let values: Vec<_> = (0..500).map(|n| (slot(n), U256::from(n))).collect();
    let prefetched = PrefetchedSlots { values: values.clone(), generation: 3 };
    let index = prefetched.index();
    for (slot, value) in &values {
        assert_eq!(index.get(slot, 3), Some(*value));
        assert_eq!(index.get(slot, 4), None);
    }
    assert_eq!(index.get(&slot(500), 3), None);
    assert_eq!(PrefetchedIndex::default().get(&slot(0), 0), None);
}
