//! Parses the parts of standard forms: pushes in their shortest form, multisig scripts, witnesses.

use super::signature;
use blockmill_signatures::Key;

pub(super) const OP_CHECKSIG: u8 = 0xac;
const OP_CHECKMULTISIG: u8 = 0xae;
/// Maximum number of keys in a recognised multisig script: OP_1 to OP_16.
pub(super) const MOST_KEYS: usize = 16;
/// Maximum size of an item (since 2010).
pub(super) const MOST_PUSHED: usize = 520;

/// Reads a push from the front of `script`. It must have the shortest form for its length, and two
/// bytes or more, as shorter items have opcodes of their own.
pub(super) fn push<'a>(script: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = match **script {
        [opcode @ 2..=75, ref rest @ ..] => (usize::from(opcode), rest),
        [76, length @ 76..=255, ref rest @ ..] => (usize::from(length), rest),
        [77, low, high, ref rest @ ..] => {
            let length = usize::from(u16::from_le_bytes([low, high]));
            ((256..=MOST_PUSHED).contains(&length).then_some(length)?, rest)
        }
        _ => return None,
    };
    let (pushed, rest) = rest.split_at_checked(length)?;
    *script = rest;
    Some(pushed)
}

/// The opcodes of a script with the bytes that they push, up to the end or a truncated push.
pub(super) struct Operations<'a>(pub &'a [u8]);

impl<'a> Iterator for Operations<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.0;
        let opcode = *rest.split_off_first()?;
        let length = match opcode {
            0..=75 => usize::from(opcode),
            76 => usize::from(*rest.split_off_first()?),
            77 => usize::from(u16::from_le_bytes(take(&mut rest)?)),
            78 => u32::from_le_bytes(take(&mut rest)?) as usize,
            _ => 0,
        };
        let pushed = rest.split_off(..length)?;
        self.0 = rest;
        Some((opcode, pushed))
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// Up to [`MOST_KEYS`] plus two items, in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Items<'a> {
    items: [&'a [u8]; MOST_KEYS + 2],
    count: usize,
}

impl<'a> Items<'a> {
    /// Collects items. `None` if there are too many.
    pub fn collect(all: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut found = Items { items: [&[]; MOST_KEYS + 2], count: 0 };
        for item in all {
            *found.items.get_mut(found.count)? = item;
            found.count += 1;
        }
        Some(found)
    }

    /// The pushes of an input script that begins with the empty item, including that item.
    pub fn of_multisig_input(mut script: &'a [u8]) -> Option<Self> {
        let mut found = Items { items: [&[]; MOST_KEYS + 2], count: 1 };
        (*script.split_off_first()? == 0).then_some(())?;
        while !script.is_empty() {
            *found.items.get_mut(found.count)? = push(&mut script)?;
            found.count += 1;
        }
        Some(found)
    }

    pub fn as_slice(&self) -> &[&'a [u8]] {
        &self.items[..self.count]
    }
}

/// `OP_m key ... OP_n OP_CHECKMULTISIG`.
pub(super) struct MultisigScript {
    /// Number of required signatures.
    pub needed: usize,
    keys: [Key; MOST_KEYS],
    count: usize,
}

impl MultisigScript {
    pub fn parse(mut script: &[u8]) -> Option<Self> {
        // a key has at least 33 bytes
        let needed = small_number(*script.split_off_first()?)?;
        (*script.split_off_last()? == OP_CHECKMULTISIG).then_some(())?;
        let count = small_number(*script.split_off_last()?)?;
        let mut keys = [Key::Compressed([0; 33]); MOST_KEYS];
        for slot in &mut keys[..count] {
            *slot = signature::key(push(&mut script)?)?;
        }
        let whole = script.is_empty() && needed <= count;
        whole.then_some(MultisigScript { needed, keys, count })
    }

    pub fn keys(&self) -> &[Key] {
        &self.keys[..self.count]
    }
}

/// OP_1 to OP_16.
fn small_number(opcode: u8) -> Option<usize> {
    matches!(opcode, 0x51..=0x60).then(|| usize::from(opcode - 0x50))
}

/// Returns whether the interpreter takes an item as true: a byte other than 0, except a sign in the
/// last byte.
pub(super) fn is_true(item: &[u8]) -> bool {
    item.split_last().is_some_and(|(last, rest)| last & 0x7f != 0 || rest.iter().any(|b| *b != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_are_taken_in_their_shortest_form_only() {
        let with = |front: &[u8], length: usize| [front, &vec![9; length]].concat();
        for (front, length) in
            [(&[2][..], 2), (&[75], 75), (&[76, 76], 76), (&[76, 255], 255), (&[77, 8, 2], 520)]
        {
            let script = with(front, length + 1);
            let mut rest = &script[..];
            assert_eq!(push(&mut rest), Some(&vec![9; length][..]));
            assert_eq!(rest, [9]);
            assert_eq!(push(&mut &script[..front.len() + length - 1]), None, "cut");
        }
        for (front, length) in [
            (&[0][..], 0),
            (&[1], 1),
            (&[0x51], 0),
            (&[76, 75], 75),
            (&[77, 255, 0], 255),
            (&[77, 9, 2], 521),
            (&[78, 4, 1, 0, 0], 260),
        ] {
            assert_eq!(push(&mut &with(front, length)[..]), None);
        }
    }

    #[test]
    fn multisig_scripts_are_recognised_whole() {
        let key = [&[33, 2][..], &[7; 32]].concat();
        let script = |m: u8, keys: usize, n: u8| {
            [&[0x50 + m][..], &key.repeat(keys), &[0x50 + n, OP_CHECKMULTISIG]].concat()
        };
        let parsed = MultisigScript::parse(&script(2, 3, 3)).unwrap();
        assert_eq!((parsed.needed, parsed.keys().len()), (2, 3));
        assert!(MultisigScript::parse(&script(16, 16, 16)).is_some());
        for bad in [script(2, 1, 1), script(1, 2, 1), script(1, 1, 2), script(0, 1, 1)] {
            assert!(MultisigScript::parse(&bad).is_none());
        }
        let good = script(1, 1, 1);
        for length in 0..good.len() {
            assert!(MultisigScript::parse(&good[..length]).is_none());
        }
        assert!(MultisigScript::parse(&[&good[..], &[0x61]].concat()).is_none());
    }

    #[test]
    fn zero_and_negative_zero_are_false() {
        for item in [&[][..], &[0], &[0x80], &[0, 0], &[0, 0x80]] {
            assert!(!is_true(item));
        }
        for item in [&[1][..], &[0x81], &[0x80, 0], &[0, 1], &[1, 0]] {
            assert!(is_true(item));
        }
    }
}
