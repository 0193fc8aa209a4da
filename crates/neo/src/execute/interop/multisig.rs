//! Checks m of n signatures (`vm.CheckMultisigPar`).

use std::collections::VecDeque;

/// Reports whether each signature is by a key, both in order. `decode` reads the key at an index,
/// `signed` reports whether a key made the signature at an index.
///
/// Keys are tried from both ends, as in neo-go. neo-go uses several threads; here the order of the
/// results is fixed, so it is deterministic which keys are decoded.
///
/// # Errors
///
/// Returns the error of the first tried key that cannot be decoded.
pub fn check<K, E>(
    keys: usize,
    signatures: usize,
    decode: impl Fn(usize) -> Result<K, E>,
    signed: impl Fn(&K, usize) -> bool,
) -> Result<bool, E> {
    if signatures == 1 {
        for key in 0..keys {
            if signed(&decode(key)?, 0) {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let (mut first_key, mut last_key) = (0, keys.saturating_sub(1));
    let (mut first, mut last) = (0, signatures.saturating_sub(1));
    let mut tried = VecDeque::from([(decode(first_key)?, first), (decode(last_key)?, last)]);
    let mut valid = true;
    while let Some((key, signature)) = tried.pop_front() {
        let forward = signature != last;
        let found = signed(&key, signature);
        if first_key + 1 == last_key {
            valid = found && first + 1 == last;
            if valid && !tried.is_empty() {
                continue;
            }
            break;
        }
        if found {
            if first + 1 == last {
                continue;
            }
            if forward { first += 1 } else { last -= 1 }
        }
        if forward {
            first_key += 1
        } else {
            last_key -= 1
        }
        let next = if forward { (first_key, first) } else { (last_key, last) };
        tried.push_back((decode(next.0)?, next.1));
    }
    Ok(valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One key after the other, as the C# node does.
    fn in_order(keys: usize, makers: &[Option<usize>]) -> bool {
        let mut next = 0;
        (0..keys).for_each(|key| next += usize::from(makers.get(next) == Some(&Some(key))));
        next == makers.len()
    }

    #[test]
    fn both_ends_have_the_answer_of_one_key_after_the_other() {
        let mut counts = [0; 2];
        for keys in 1..=5_usize {
            for signatures in 1..=keys {
                // the key of each signature, or none
                for number in 0..(keys + 1).pow(signatures as u32) {
                    let maker = |at: usize| {
                        let maker = number / (keys + 1).pow(at as u32) % (keys + 1);
                        maker.checked_sub(1)
                    };
                    let makers: Vec<_> = (0..signatures).map(maker).collect();
                    let signed = |key: &usize, signature: usize| makers[signature] == Some(*key);
                    let found = check(keys, signatures, Ok::<_, ()>, signed).unwrap();
                    assert_eq!(found, in_order(keys, &makers), "{keys} {makers:?}");
                    counts[usize::from(found)] += 1;
                }
            }
        }
        assert!(counts[0] > 1_000 && counts[1] == 57, "{counts:?}");
    }

    #[test]
    fn keys_that_are_not_tried_may_be_anything() {
        let check = |bad: usize, makers: [usize; 2]| {
            let decode = |key| if key == bad { Err("bad") } else { Ok(key) };
            check(4, 2, decode, |key, signature| makers[signature] == *key)
        };
        assert_eq!(check(1, [0, 3]), Ok(true));
        assert_eq!(check(1, [2, 3]), Err("bad"));
        assert_eq!(check(2, [0, 1]), Err("bad"));
        // both ends are tried always
        assert_eq!(check(3, [0, 1]), Err("bad"));
        assert_eq!(check(0, [2, 3]), Err("bad"));
    }
}
