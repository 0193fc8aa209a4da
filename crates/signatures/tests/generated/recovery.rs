//! ECDSA signatures whose key is sought: `s / r * R - digest / r * G`, where R is the point with
//! x = r or r + n that the recovery id tells.

use blockmill_signatures::Recovery;
use num_bigint::BigUint;

use super::points::{Point, coordinates, multiple};
use super::{Generator, Kind, Known, bytes, number, random, structured};

type Key = Option<[u8; 64]>;
type Case = (Recovery, Option<Key>);

/// Every kind; the first comes more often than the other random ones.
pub const KINDS: [Kind<Recovery, Key>; 17] = [
    random("signatures", signature),
    random("any numbers", any_numbers),
    structured("chosen points and multipliers", multipliers),
    structured("equal terms", equal_terms),
    structured("sums at infinity", infinite),
    structured("sums that meet a multiple of G", meeting),
    structured("no multiple of G", no_multiple_of_g),
    structured("numbers at their bounds", edges),
    structured("s at its bounds", s_at_bounds),
    structured("digests at their bounds", digest_at_bounds),
    structured("a flipped bit", flipped),
    structured("any recovery id", ids),
    structured("small r, and r + n", r_or_r_plus_n),
    structured("images of the endomorphism", images),
    structured("repeated keys", |cases| {
        let (key, nonce) = (cases.regular(), cases.walk());
        cases.recoverable(&key, &nonce)
    }),
    structured("one r for several keys", |cases| {
        let (key, nonce) = (cases.walk(), cases.regular());
        cases.recoverable(&key, &nonce)
    }),
    structured("mixed up", mixed_up),
];

fn key(point: &Point) -> Key {
    let (x, y) = coordinates(point);
    let mut key = [0; 64];
    key[..32].copy_from_slice(&x);
    key[32..].copy_from_slice(&y);
    Some(key)
}

impl Generator {
    fn of_point(&self, nonce: &Known, s: &BigUint, digest: &BigUint) -> Recovery {
        let (x, y) = coordinates(&nonce.point);
        let x = number(&x);
        // an x of n or more is as good as impossible, but not for its maker
        let recovery_id = y[31] & 1 | u8::from(x >= self.n) << 1;
        Recovery { digest: bytes(digest), r: bytes(&(x % &self.n)), s: bytes(s), recovery_id }
    }

    /// A signature with random s.
    fn recoverable(&mut self, signer: &Known, nonce: &Known) -> Case {
        let (r, s) = (self.r(&nonce.point), self.any());
        let digest = self.digest(&signer.number, &nonce.number, &r, &s);
        (self.of_point(nonce, &s, &digest), Some(key(&signer.point)))
    }

    /// The key is `(s_per_r * nonce - m) * G`.
    fn of_multipliers(&mut self, nonce: &Known, s_per_r: &BigUint, m: &BigUint) -> Case {
        let r = self.r(&nonce.point);
        let (s, digest) = (s_per_r * &r % &self.n, m * &r % &self.n);
        let found = (s_per_r * &nonce.number + self.negate(m)) % &self.n;
        let found = if found == BigUint::ZERO { None } else { key(&multiple(&found)) };
        (self.of_point(nonce, &s, &digest), Some(found))
    }
}

fn signature(cases: &mut Generator) -> Case {
    let (signer, nonce) = (cases.walk(), cases.walk());
    cases.recoverable(&signer, &nonce)
}

/// r is x of a point in half of the cases.
fn any_numbers(cases: &mut Generator) -> Case {
    let [digest, r, s] = std::array::from_fn(|_| cases.random.bytes());
    (Recovery { digest, r, s, recovery_id: cases.random.below(4) as u8 }, None)
}

fn multipliers(cases: &mut Generator) -> Case {
    let (nonce, s_per_r, m) = (cases.chosen_point(), cases.chosen(), cases.chosen());
    let (mut recovery, key) = cases.of_multipliers(&nonce, &s_per_r, &m);
    if cases.random.below(4) == 0 {
        recovery.recovery_id = cases.random.below(5) as u8;
        return (recovery, None);
    }
    (recovery, key)
}

/// `s / r * R = -digest / r * G`
fn equal_terms(cases: &mut Generator) -> Case {
    let (nonce, s_per_r) = (cases.chosen_point(), cases.chosen());
    let m = cases.negate(&(&s_per_r * &nonce.number));
    cases.of_multipliers(&nonce, &s_per_r, &m)
}

fn infinite(cases: &mut Generator) -> Case {
    let (nonce, s_per_r) = (cases.chosen_point(), cases.chosen());
    let m = &s_per_r * &nonce.number % &cases.n;
    cases.of_multipliers(&nonce, &s_per_r, &m)
}

fn meeting(cases: &mut Generator) -> Case {
    let ((u1, c), s_per_r) = (cases.meeting(), cases.chosen());
    let nonce = c * cases.inverse(&s_per_r) % &cases.n;
    let nonce = Known { point: multiple(&nonce), number: nonce };
    let m = cases.negate(&u1);
    cases.of_multipliers(&nonce, &s_per_r, &m)
}

/// The digest is 0 or n.
fn no_multiple_of_g(cases: &mut Generator) -> Case {
    let (nonce, s_per_r) = (cases.chosen_point(), cases.chosen());
    let (mut recovery, key) = cases.of_multipliers(&nonce, &s_per_r, &BigUint::ZERO);
    if cases.random.coin() {
        recovery.digest = bytes(&cases.n);
    }
    (recovery, key)
}

fn edges(cases: &mut Generator) -> Case {
    let (mut recovery, _) = signature(cases);
    let (edge, other) = (cases.edge(), cases.edge());
    match cases.random.below(5) {
        0 => recovery.r = edge,
        1 => recovery.s = edge,
        2 => recovery.digest = edge,
        3 => (recovery.r, recovery.s) = (edge, other),
        _ => (recovery.r, recovery.recovery_id) = (edge, cases.random.below(5) as u8),
    }
    (recovery, None)
}

fn s_at_bounds(cases: &mut Generator) -> Case {
    let (signer, nonce, edge) = (cases.walk(), cases.walk(), cases.edge());
    let (r, s) = (cases.r(&nonce.point), number(&edge));
    let digest = cases.digest(&signer.number, &nonce.number, &r, &s);
    let is_in_range = s != BigUint::ZERO && s < cases.n;
    let found = if is_in_range { key(&signer.point) } else { None };
    (cases.of_point(&nonce, &s, &digest), Some(found))
}

/// Some are above n.
fn digest_at_bounds(cases: &mut Generator) -> Case {
    let (signer, nonce, digest) = (cases.walk(), cases.chosen_point(), cases.edge());
    let r = cases.r(&nonce.point);
    let s = (number(&digest) + r * &signer.number) * cases.inverse(&nonce.number) % &cases.n;
    (cases.of_point(&nonce, &s, &number(&digest)), Some(key(&signer.point)))
}

fn flipped(cases: &mut Generator) -> Case {
    let (mut recovery, _) = signature(cases);
    match cases.random.below(4) {
        0 => cases.random.flip(&mut recovery.digest),
        1 => cases.random.flip(&mut recovery.r),
        2 => cases.random.flip(&mut recovery.s),
        _ => recovery.recovery_id ^= 1 << cases.random.below(8),
    }
    (recovery, None)
}

fn ids(cases: &mut Generator) -> Case {
    let (mut recovery, found) = signature(cases);
    let right = recovery.recovery_id;
    recovery.recovery_id = match cases.random.below(2) {
        0 => cases.random.below(6) as u8,
        _ => cases.random.next() as u8,
    };
    let found = match recovery.recovery_id {
        id if id == right => found,
        // x would be r + n, which is above p
        2.. => Some(None),
        _ => None,
    };
    (recovery, found)
}

/// r so small that r + n may be x of a point as well, with numbers of any kind.
fn r_or_r_plus_n(cases: &mut Generator) -> Case {
    let r = BigUint::from(cases.random.below(200));
    let (s, digest) = (cases.chosen(), cases.edge());
    let s = if cases.random.coin() { cases.any() } else { s };
    let recovery_id = cases.random.below(4) as u8;
    (Recovery { digest, r: bytes(&r), s: bytes(&s), recovery_id }, None)
}

/// Keys and nonces that are images of others.
fn images(cases: &mut Generator) -> Case {
    let (signer, nonce) = (cases.walk(), cases.walk());
    let signer = if cases.random.coin() { cases.image(&signer) } else { signer };
    let nonce = if cases.random.coin() { cases.image(&nonce) } else { nonce };
    cases.recoverable(&signer, &nonce)
}

fn mixed_up(cases: &mut Generator) -> Case {
    let (mut recovery, _) = signature(cases);
    match cases.random.below(5) {
        0 => std::mem::swap(&mut recovery.r, &mut recovery.s),
        1 => std::mem::swap(&mut recovery.r, &mut recovery.digest),
        2 => recovery.s = recovery.r,
        3 => (recovery.r, recovery.s, recovery.digest) = ([0; 32], [0; 32], [0; 32]),
        _ => (recovery.r, recovery.s, recovery.digest) = ([255; 32], [255; 32], [255; 32]),
    }
    (recovery, None)
}
