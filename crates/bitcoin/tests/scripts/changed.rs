//! Signed transactions of every form whose parts are changed in ways that leave the signatures
//! good: what the library refuses, the templates refuse too.

use super::assembly::push;
use super::case::{ALL, Random};
use super::forms::{Plan, Signed};
use blockmill_bitcoin::script::{Flags, Form};

/// The order of the group.
const ORDER: [u8; 32] = secp256k1::constants::CURVE_ORDER;

/// Changes a list of items: of a witness, or of an input script.
fn change_items(items: &mut Vec<Vec<u8>>, random: &mut Random) {
    let at = random.below(items.len() + 1);
    let inside = random.below(items.len().max(1));
    match random.below(12) {
        0 => items.insert(at, Vec::new()),
        1 => items.insert(at, vec![1]),
        // an annex, if it is the last item
        2 => items.push(vec![0x50, 1, 2]),
        3 => items.insert(0, vec![0x80]),
        4 => items.clear(),
        _ if items.is_empty() => {}
        5 => {
            items.remove(inside);
        }
        6 => {
            let item = items[inside].clone();
            items.insert(at, item);
        }
        7 => items.swap(inside, 0),
        _ => change_item(&mut items[inside], random),
    }
}

/// Changes one item: another spelling of a signature or a key, another hash type, a single bit.
fn change_item(item: &mut Vec<u8>, random: &mut Random) {
    let last = item.len().saturating_sub(1);
    match (random.below(8), &mut item[..]) {
        (0, [.., hash_type]) => {
            *hash_type = [0, 1, 2, 3, 4, 0x41, 0x50, 0x80, 0x81, 0x83, 0xff][random.below(11)];
        }
        (1, [0x30, ..]) => change_signature(item, random),
        (2, [first @ 2..=7, .., end]) => *first = 6 + (*end & 1),
        (3, [first @ 2..=7, ..]) => *first = [2, 3, 4, 6, 7][random.below(5)],
        (4, _) => item.push(random.next_u64() as u8),
        (5, _) => item.truncate(last),
        (6, _) => item.clear(),
        (_, []) => item.push(0),
        _ => {
            let at = random.below(item.len());
            item[at] ^= 1 << random.below(8);
        }
    }
}

/// A signature of the same numbers in another spelling, or with n - s.
fn change_signature(item: &mut Vec<u8>, random: &mut Random) {
    let r_end = 4 + usize::from(item[3]);
    if r_end + 2 >= item.len() {
        return;
    }
    match random.below(4) {
        // a zero before r, before s
        0 => {
            item.insert(4, 0);
            item[3] += 1;
            item[1] += 1;
        }
        1 => {
            item.insert(r_end + 2, 0);
            item[r_end + 1] += 1;
            item[1] += 1;
        }
        // bytes after s
        2 => {
            item.insert(item.len() - 1, 0);
            item[1] = item[1].wrapping_add(random.below(2) as u8);
        }
        _ => {
            let Some(hash_type) = item.pop() else { return };
            let digits = item.split_off(r_end + 2);
            let (mut s, mut borrow) = ([0u8; 32], false);
            let digits = &digits[digits.len().saturating_sub(32)..];
            s[32 - digits.len()..].copy_from_slice(digits);
            for i in (0..32).rev() {
                let (digit, under) = ORDER[i].overflowing_sub(s[i]);
                let (digit, again) = digit.overflowing_sub(borrow.into());
                (s[i], borrow) = (digit, under || again);
            }
            let zero = s[0] & 0x80 != 0;
            item[r_end + 1] = 32 + u8::from(zero);
            item[1] = (r_end + usize::from(item[r_end + 1])) as u8;
            item.extend(zero.then_some(0));
            item.extend_from_slice(&s);
            item.push(hash_type);
        }
    }
}

/// Writes an input script with pushes that are not always the shortest, and what is no push.
fn write_script(out: &mut Vec<u8>, items: &[Vec<u8>], random: &mut Random) {
    out.clear();
    for item in items {
        match (random.below(24), item.len()) {
            (0, length @ 0..256) => {
                out.extend_from_slice(&[76, length as u8]);
                out.extend_from_slice(item);
            }
            (1, length) => {
                out.extend_from_slice(&[77, length as u8, (length >> 8) as u8]);
                out.extend_from_slice(item);
            }
            (2, length) => {
                out.extend_from_slice(&[78, length as u8, (length >> 8) as u8, 0, 0]);
                out.extend_from_slice(item);
            }
            (3, _) => {
                // nothing, a duplicate, a separator, a return
                out.push([0x61, 0x76, 0xab, 0x6a][random.below(4)]);
                push(out, item);
            }
            _ => push(out, item),
        }
    }
    if random.below(24) == 0 {
        out.push([0x61, 0x51, 0x75, 0xab, 0][random.below(5)]);
    }
}

/// A set of rules, mostly all of them.
fn some_flags(random: &mut Random) -> Flags {
    match random.below(8) {
        0 => Flags::NONE,
        1 => Flags::P2SH,
        2 => Flags::P2SH.with(Flags::WITNESS).with(Flags::TAPROOT),
        3 => ALL.without(Flags::TAPROOT),
        4 => ALL.without(Flags::NULLDUMMY),
        5 => ALL.without(Flags::DERSIG),
        _ => ALL,
    }
}

#[test]
fn changed_parts_of_every_form() {
    let mut random = Random::new(2026);
    let (mut by_templates, mut by_library, mut refused) = (0, 0, 0);
    for round in 0..120u64 {
        for form in Form::ALL {
            let plans = [
                Plan::new(form, round, !round.is_multiple_of(3), 3, &[0, 1 + round as usize % 2]),
                Plan::new(Form::ALL[random.below(6)], round + 1000, true, 1, &[]),
            ];
            let hash_type = [1, 1, 2, 3, 0x81, 0x82, 0x83][random.below(7)];
            let mut signed = Signed::new(&plans, 2, |_| hash_type);
            for _ in 0..random.below(3) {
                match random.below(8) {
                    0..4 => change_items(&mut signed.draft.inputs[0].witness, &mut random),
                    4..7 => change_items(&mut signed.scripts[0], &mut random),
                    _ => {
                        let script = &mut signed.coins[0].1;
                        let at = random.below(script.len());
                        script[at] ^= 1 << random.below(8);
                    }
                }
            }
            signed.write_scripts();
            let items = &signed.scripts[0];
            write_script(&mut signed.draft.inputs[0].script, items, &mut random);
            let Some(case) = signed.case() else { continue };
            if signed.draft.inputs.len() != case.block.inputs.len() - 1 {
                continue;
            }
            match case.verdict(some_flags(&mut random)) {
                (Ok(()), counts) if counts.library == 0 => by_templates += 1,
                (Ok(()), _) => by_library += 1,
                (Err(_), _) => refused += 1,
            }
        }
    }
    println!("accepted: {by_templates} by templates, {by_library} by the library; {refused} not");
    assert!(by_templates > 200 && by_library > 100 && refused > 200);
}
