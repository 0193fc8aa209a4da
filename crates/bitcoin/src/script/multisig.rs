//! Which keys made which signatures: multisig scripts, many at once.
//!
//! The interpreter takes the signatures in order and gives each the next key that made it; any
//! assignment in order is therefore as good as the one it finds. Here each signature has a window
//! of keys that it may still belong to. In each round every signature that has no key yet is
//! checked against one end of its window, together with those of all other scripts: the first
//! half of them against the lowest key, the others against the highest. Two of three takes 2.7
//! checks on average, of the 4 that are possible.

use super::pushes::MOST_KEYS;
use blockmill_signatures::{EcdsaCheck, Key, Signatures};

/// A signature and what it signs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signed {
    pub digest: [u8; 32],
    pub r: [u8; 32],
    pub s: [u8; 32],
}

/// Multisig scripts that are being solved.
#[derive(Debug, Default)]
pub(super) struct Multisigs {
    all: Vec<Multisig>,
    signatures: Vec<Signed>,
    keys: Vec<Key>,
    /// The checks of a round, and for each the script, the signature and the key.
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
    /// For each signature the lowest and the highest key that may have made it.
    windows: [(i8, i8); MOST_KEYS],
    needed: usize,
    /// A bit for each signature whose key is found.
    found: u16,
    failed: bool,
}

impl Multisig {
    /// Keys are in order: each lies above the one before. An empty window ends the search.
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

    /// Notes whether the key made the signature.
    fn learn(&mut self, signature: usize, key: i8, valid: bool) {
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

    /// The signatures without a key, and the key to try next.
    fn open(&self) -> impl Iterator<Item = (usize, i8)> {
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

    /// Signatures still to be assigned.
    pub fn len(&self) -> usize {
        self.signatures.len()
    }

    /// Begins a script with `keys`. Its signatures follow by [`Multisigs::push`]; it has at most
    /// as many as keys.
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

    /// Tries keys until every script is decided.
    pub fn solve(&mut self, verifier: &Signatures) {
        loop {
            self.checks.clear();
            self.asked.clear();
            for (number, script) in self.all.iter().enumerate() {
                for (i, key) in script.open() {
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
                    script.learn(*i, *key, *valid);
                }
            }
            self.all.iter_mut().for_each(Multisig::narrow);
        }
    }

    /// Has every signature of the script its key?
    pub fn accepts(&self, number: usize) -> bool {
        self.all.get(number).is_some_and(|script| {
            !script.failed && script.found.count_ones() as usize == script.needed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Solves with the answers of `made`: did this key make this signature?
    fn solve(keys: usize, needed: usize, made: impl Fn(usize, usize) -> bool) -> (bool, usize) {
        let mut all = Multisigs::default();
        all.begin(&vec![Key::Compressed([2; 33]); keys], needed);
        let (script, mut checks) = (&mut all.all[0], 0);
        loop {
            let open: Vec<_> = script.open().collect();
            if open.is_empty() {
                return (all.accepts(0), checks);
            }
            for (i, key) in open {
                checks += 1;
                script.learn(i, key, made(i, key as usize));
            }
            script.narrow();
        }
    }

    /// The interpreter's way: the last signature first, each tried with the next lower key.
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
        // all relations between 3 signatures and 4 keys, where one may fit many
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
