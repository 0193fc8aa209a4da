//! Assigns signatures to keys in multisig scripts, in batches.
//!
//! The interpreter assigns the signatures in order, each to the next matching key; any assignment
//! in order is therefore equivalent. Here each signature has a window of keys that may still match.
//! Each round checks every unassigned signature of all scripts against one end of its window: the
//! first half of them against the lowest key, the others against the highest. Two of three takes
//! 2.7 checks on average, of 4 possible ones.

use super::pushes::MOST_KEYS;
use blockmill_signatures::{EcdsaCheck, Key, Signatures};

/// A signature and the digest that it signs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signed {
    pub digest: [u8; 32],
    pub r: [u8; 32],
    pub s: [u8; 32],
}

/// The multisig scripts of a batch.
#[derive(Debug, Default)]
pub(super) struct Multisigs {
    all: Vec<Multisig>,
    signatures: Vec<Signed>,
    keys: Vec<Key>,
    /// The checks of a round, each with its script, signature and key.
    checks: Vec<EcdsaCheck>,
    asked: Vec<(usize, usize, i8)>,
    valid: Vec<bool>,
}

/// One script.
#[derive(Debug)]
struct Multisig {
    /// Its first signature and first key in the lists of all.
    signature: usize,
    key: usize,
    /// For each signature, the lowest and the highest key that may match.
    windows: [(i8, i8); MOST_KEYS],
    needed: usize,
    /// A bit for each assigned signature.
    found: u16,
    failed: bool,
}

impl Multisig {
    /// Narrows the windows: keys of consecutive signatures increase. An empty window ends the
    /// search.
    fn narrow(&mut self) {
        let windows = &mut self.windows[..self.needed];
        for i in 1..windows.len() {
            windows[i].0 = windows[i].0.max(windows[i - 1].0 + 1);
        }
        for i in (1..windows.len()).rev() {
            windows[i - 1].1 = windows[i - 1].1.min(windows[i].1 - 1);
        }
        self.failed |= windows.iter().any(|(low, high)| low > high);
    }

    /// Records whether the key matches the signature.
    fn record(&mut self, signature: usize, key: i8, valid: bool) {
        let Some((low, high)) = self.windows.get_mut(signature) else { return };
        if valid {
            self.found |= 1 << signature;
            (*low, *high) = (key, key);
        } else if key == *low {
            *low += 1;
        } else {
            *high -= 1;
        }
    }

    /// The unassigned signatures, and the key to try next.
    fn unassigned(&self) -> impl Iterator<Item = (usize, i8)> {
        let windows = self.windows[..self.needed].iter().enumerate();
        let open = windows.filter(|(i, _)| !self.failed && self.found >> i & 1 == 0);
        open.map(|(i, (low, high))| (i, if i < self.needed / 2 { *low } else { *high }))
    }
}

impl Multisigs {
    pub fn clear(&mut self) {
        self.all.clear();
        self.signatures.clear();
        self.keys.clear();
    }

    /// Number of signatures.
    pub fn len(&self) -> usize {
        self.signatures.len()
    }

    /// Starts a script with `keys`. [`Multisigs::push`] adds its signatures, at most one for each
    /// key.
    pub fn begin(&mut self, keys: &[Key], needed: usize) -> usize {
        let spare = keys.len().saturating_sub(needed) as i8;
        let windows = std::array::from_fn(|i| (i as i8, i as i8 + spare));
        let (signature, key) = (self.signatures.len(), self.keys.len());
        self.keys.extend_from_slice(keys);
        let needed = needed.min(MOST_KEYS);
        self.all.push(Multisig { signature, key, windows, needed, found: 0, failed: false });
        self.all.len() - 1
    }

    pub fn push(&mut self, signature: Signed) {
        self.signatures.push(signature);
    }

    /// Checks signatures until every script is decided.
    pub fn solve(&mut self, verifier: &Signatures) {
        loop {
            self.checks.clear();
            self.asked.clear();
            for (number, script) in self.all.iter().enumerate() {
                for (i, key) in script.unassigned() {
                    let signed = self.signatures.get(script.signature + i);
                    let maker = self.keys.get(script.key + key as usize);
                    let (Some(signed), Some(maker)) = (signed, maker) else { continue };
                    let Signed { digest, r, s } = *signed;
                    self.checks.push(EcdsaCheck { digest, r, s, key: *maker });
                    self.asked.push((number, i, key));
                }
            }
            if self.checks.is_empty() {
                return;
            }
            self.valid.clear();
            self.valid.resize(self.checks.len(), false);
            verifier.ecdsa(&self.checks, &mut self.valid);
            for ((number, i, key), valid) in self.asked.iter().zip(&self.valid) {
                if let Some(script) = self.all.get_mut(*number) {
                    script.record(*i, *key, *valid);
                }
            }
            self.all.iter_mut().for_each(Multisig::narrow);
        }
    }

    /// Returns whether every signature of the script is assigned.
    pub fn accepts(&self, number: usize) -> bool {
        self.all.get(number).is_some_and(|script| {
            !script.failed && script.found.count_ones() as usize == script.needed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves with `made`: whether this key matches this signature.
    fn solve(keys: usize, needed: usize, made: impl Fn(usize, usize) -> bool) -> (bool, usize) {
        let mut all = Multisigs::default();
        all.begin(&vec![Key::Compressed([2; 33]); keys], needed);
        let (script, mut checks) = (&mut all.all[0], 0);
        loop {
            let open: Vec<_> = script.unassigned().collect();
            if open.is_empty() {
                return (all.accepts(0), checks);
            }
            for (i, key) in open {
                checks += 1;
                script.record(i, key, made(i, key as usize));
            }
            script.narrow();
        }
    }

    /// The algorithm of the interpreter: from the last signature, each with the next lower key.
    fn as_the_interpreter(keys: usize, needed: usize, made: impl Fn(usize, usize) -> bool) -> bool {
        let (mut signature, mut key) = (needed, keys);
        while signature > 0 && signature <= key {
            signature -= usize::from(made(signature - 1, key - 1));
            key -= 1;
        }
        signature == 0
    }

    #[test]
    fn every_subset_of_the_keys_is_found() {
        for keys in 1..=7usize {
            for needed in 1..=keys {
                for subset in 0u32..1 << keys {
                    let makers: Vec<_> = (0..keys).filter(|k| subset >> k & 1 == 1).collect();
                    if makers.len() == needed {
                        let (accepted, checks) = solve(keys, needed, |i, k| makers[i] == k);
                        assert!(accepted, "{needed} of {keys}: {makers:?}");
                        assert!(checks <= needed * (keys - needed + 1));
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_accepted_the_interpreter_accepts() {
        // all relations between 3 signatures and 4 keys, in which one may match many
        for needed in 1..=3usize {
            for relation in 0u32..1 << (needed * 4) {
                let made = |i: usize, key: usize| relation >> (4 * i + key) & 1 == 1;
                if solve(4, needed, made).0 {
                    assert!(as_the_interpreter(4, needed, made), "{needed} {relation:b}");
                }
            }
        }
    }

    #[test]
    fn two_of_three_takes_eight_checks_for_three_scripts() {
        let pairs = [[0, 1], [0, 2], [1, 2]];
        let total: usize = pairs.map(|pair| solve(3, 2, |i, key| pair[i] == key).1).iter().sum();
        assert_eq!(total, 8);
    }
}
