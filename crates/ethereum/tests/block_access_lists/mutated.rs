//! Real lists, mutated at random: nothing but the list of the header is accepted.

use super::{CHAINS, Listed, listed};
use blockmill_ethereum::access_list::{
    BlockAccessList, CodeChange, NonceChange, check, first_difference,
};
use blockmill_rlp::{Decode, Encode};
use blockmill_testkit::{Random, hex};
use std::collections::BTreeMap;

/// Changes some bytes of a list, or moves, repeats or removes a part of it.
fn mutate(random: &mut Random, list: &[u8]) -> Vec<u8> {
    let mut bytes = list.to_vec();
    let (from, length) = (random.below(bytes.len()), 1 + random.below(40_usize));
    let to = (from + length).min(bytes.len());
    match random.below(6_u32) {
        0 => random.flip(&mut bytes),
        1 => bytes[from] = random.pick(&[0x00, 0x7f, 0x80, 0x81, 0xb8, 0xc0, 0xc1, 0xf8, 0xff]),
        2 => drop(bytes.drain(from..to)),
        3 => {
            let part = bytes[from..to].to_vec();
            let at = random.below(bytes.len());
            bytes.splice(at..at, part);
        }
        4 => bytes.truncate(from),
        _ => {
            let number = random.any_length().to_be_bytes();
            let at = from.min(bytes.len().saturating_sub(8));
            let end = (at + 8).min(bytes.len());
            bytes[at..end].copy_from_slice(&number[..end - at]);
        }
    }
    bytes
}

/// Moves, repeats or removes accounts or fields of one, so that the list stays canonical RLP.
fn rearrange(random: &mut Random, list: &[u8]) -> Vec<u8> {
    let mut list = BlockAccessList::decode(list).unwrap();
    let last = list.accounts.len() - 1;
    let (a, b) = (random.below(last + 1), random.below(last + 1));
    let other = list.accounts[b].clone();
    let account = &mut list.accounts[a];
    match random.below(11_u32) {
        0 => list.accounts.swap(a, b),
        1 => list.accounts.insert(a, other),
        2 => drop(list.accounts.remove(a)),
        3 => account.storage_reads.extend(account.storage_changes.iter().map(|it| it.slot)),
        4 => account.storage_changes = other.storage_changes,
        5 => account.balance_changes.extend(other.balance_changes),
        6 => account.nonce_changes.push(NonceChange { index: random.below(9), nonce: 7 }),
        7 => account.code_changes.push(CodeChange { index: 1, code: random.bytes(70_000) }),
        8 => account.storage_reads.reverse(),
        9 => account.storage_changes.iter_mut().for_each(|it| it.changes.clear()),
        _ => account.balance_changes.iter_mut().for_each(|it| it.index ^= 1),
    }
    list.encode()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn ten_thousand_mutated_lists_are_refused_unless_nothing_changed() {
    let blocks: Vec<Listed> = CHAINS.iter().flat_map(|chain| listed(chain)).collect();
    let mut random = Random::new_each_run("mutated block access lists");
    let (mut changed, mut well_formed, mut same) = (0, 0, 0);
    let mut rules = BTreeMap::new();
    for i in 0.. {
        if changed == 10_000 {
            break;
        }
        let block = &blocks[random.below(blocks.len())];
        let list = match i % 3 {
            0 => rearrange(&mut random, &block.list),
            _ => mutate(&mut random, &block.list),
        };
        let is_same = list == block.list;
        (same, changed) = (same + usize::from(is_same), changed + usize::from(!is_same));
        assert_eq!(block.accepts(&list), is_same, "mutation {i}: {}", hex::encode_0x(&list));
        // without the hash, what passes has one encoding and differs in some entry
        match check(&list, &block.limits()) {
            Ok(()) => {
                assert!(BlockAccessList::decode(&list).unwrap().encode() == list, "mutation {i}");
                let difference = first_difference(&block.list, &list).unwrap();
                assert_eq!(difference.is_none(), is_same, "mutation {i}");
                well_formed += usize::from(!is_same);
            }
            Err(fault) => {
                assert!(fault.offset <= list.len(), "mutation {i}: {fault:?}");
                *rules.entry(fault.rule.name()).or_insert(0) += 1;
            }
        }
    }
    println!("{well_formed} well-formed, {same} unchanged, {rules:?}");
    assert!(well_formed > 500 && same > 10 && rules.len() >= 6, "{rules:?}");
}
