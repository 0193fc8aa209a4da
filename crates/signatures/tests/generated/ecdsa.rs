//! ECDSA signatures. A signature `r, s` of a digest holds for a key Q if `r` is x of `u1 * G + u2 *
//! Q` modulo n, where `u1 = digest / s` and `u2 = r / s`.

use blockmill_signatures::{EcdsaCheck, Key};
use num_bigint::BigUint;

use super::points::{self, Point, coordinates, multiple};
use super::{Generator, Kind, Known, bytes, number, random, structured};

type Case = (EcdsaCheck, Option<bool>);

/// Every kind; the first comes more often than the other random ones.
pub const KINDS: [Kind<EcdsaCheck, bool>; 20] = [
    random("signatures", signature),
    random("one number replaced by a random one", replaced),
    structured("chosen multipliers", |cases| cases.multipliers()),
    structured("equal terms", equal_terms),
    structured("sums at infinity", infinite),
    structured("sums that meet a multiple of G", meeting),
    structured("no multiple of G", no_multiple_of_g),
    structured("numbers at their bounds", edges),
    structured("s at its bounds", s_at_bounds),
    structured("digests at their bounds", digest_at_bounds),
    structured("a flipped bit", flipped),
    structured("forms of keys", forms),
    structured("keys off the curve", off_curve),
    structured("keys of small x, and x + p", small_keys),
    structured("r or r + n", r_or_r_plus_n),
    structured("r next to x", r_next_to_x),
    structured("images of the endomorphism", images),
    structured("the image of a key or of a sum", other_image),
    structured("repeated keys", |cases| {
        let key = cases.regular();
        let nonce = cases.walk();
        cases.signed(&key, &nonce)
    }),
    structured("mixed up", mixed_up),
];

impl Generator {
    /// The key in any of its forms.
    fn key(&mut self, point: &Point) -> Key {
        let (x, y) = coordinates(point);
        match self.random.below(3) {
            0 => self.long_key(x, y),
            _ => {
                let mut bytes = [2 + (y[31] & 1); 33];
                bytes[1..].copy_from_slice(&x);
                Key::Compressed(bytes)
            }
        }
    }

    fn long_key(&mut self, x: [u8; 32], y: [u8; 32]) -> Key {
        let mut bytes = [4; 65];
        bytes[1..33].copy_from_slice(&x);
        bytes[33..].copy_from_slice(&y);
        if self.random.below(4) == 0 {
            bytes[0] = 6 + (y[31] & 1);
        }
        Key::Uncompressed(bytes)
    }

    /// The check, with s or its opposite, which goes with the opposite sum.
    fn check(&mut self, digest: &BigUint, r: &BigUint, s: &BigUint, key: &Point) -> EcdsaCheck {
        let negative = self.random.coin();
        let s = self.negated_if(negative, s.clone());
        EcdsaCheck { digest: bytes(digest), r: bytes(r), s: bytes(&s), key: self.key(key) }
    }

    /// A signature with random s.
    fn signed(&mut self, key: &Known, nonce: &Known) -> Case {
        let (r, s) = (self.r(&nonce.point), self.any());
        let digest = self.digest(&key.number, &nonce.number, &r, &s);
        (self.check(&digest, &r, &s, &key.point), Some(true))
    }

    /// A signature such that the sum is `u1 * G + u2 * Q`; `None` if that is at infinity.
    fn with_multipliers(&mut self, key: &Known, u1: &BigUint, u2: &BigUint) -> Option<Case> {
        let nonce = (u1 + u2 * &key.number) % &self.n;
        if nonce == BigUint::ZERO {
            return None;
        }
        let r = self.r(&multiple(&nonce));
        let s = &r * self.inverse(u2) % &self.n;
        let digest = u1 * &s % &self.n;
        Some((self.check(&digest, &r, &s, &key.point), Some(true)))
    }

    fn multipliers(&mut self) -> Case {
        loop {
            let (key, u1, u2) = (self.chosen_point(), self.chosen(), self.chosen());
            if let Some(case) = self.with_multipliers(&key, &u1, &u2) {
                return case;
            }
        }
    }
}

fn signature(cases: &mut Generator) -> Case {
    let (key, nonce) = (cases.walk(), cases.walk());
    cases.signed(&key, &nonce)
}

fn replaced(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    let bytes = cases.random.bytes();
    match cases.random.below(4) {
        0 => check.digest = bytes,
        1 => check.r = bytes,
        2 => check.s = bytes,
        _ => match &mut check.key {
            Key::Compressed(key) => key[1..].copy_from_slice(&bytes),
            Key::Uncompressed(key) => key[1..33].copy_from_slice(&bytes),
        },
    }
    (check, Some(false))
}

/// `u1 * G = u2 * Q`
fn equal_terms(cases: &mut Generator) -> Case {
    loop {
        let (key, u2) = (cases.chosen_point(), cases.chosen());
        let u1 = &u2 * &key.number % &cases.n;
        if let Some(case) = cases.with_multipliers(&key, &u1, &u2) {
            return case;
        }
    }
}

/// `u1 * G = -u2 * Q`, whatever r and s.
fn infinite(cases: &mut Generator) -> Case {
    let (key, r, s) = (cases.chosen_point(), cases.chosen(), cases.chosen());
    let digest = cases.negate(&(&r * &key.number));
    (cases.check(&digest, &r, &s, &key.point), Some(false))
}

fn meeting(cases: &mut Generator) -> Case {
    loop {
        let ((u1, c), u2) = (cases.meeting(), cases.chosen());
        let key = c * cases.inverse(&u2) % &cases.n;
        let key = Known { point: multiple(&key), number: key };
        if let Some(case) = cases.with_multipliers(&key, &u1, &u2) {
            return case;
        }
    }
}

/// The digest is 0 or n.
fn no_multiple_of_g(cases: &mut Generator) -> Case {
    let (key, u2) = (cases.chosen_point(), cases.chosen());
    match cases.with_multipliers(&key, &BigUint::ZERO, &u2) {
        Some((mut check, valid)) => {
            if cases.random.coin() {
                check.digest = bytes(&cases.n);
            }
            (check, valid)
        }
        None => no_multiple_of_g(cases),
    }
}

fn edges(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    let (edge, other) = (cases.edge(), cases.edge());
    match cases.random.below(6) {
        0 => check.r = edge,
        1 => check.s = edge,
        2 => check.digest = edge,
        3 => (check.r, check.s) = (edge, other),
        4 => {
            let key = cases.long_key(edge, other);
            check.key = key;
        }
        _ => match &mut check.key {
            Key::Compressed(bytes) => bytes[1..].copy_from_slice(&edge),
            Key::Uncompressed(bytes) => {
                let at = 1 + 32 * cases.random.below(2);
                bytes[at..at + 32].copy_from_slice(&edge);
            }
        },
    }
    (check, None)
}

fn s_at_bounds(cases: &mut Generator) -> Case {
    let (key, nonce, edge) = (cases.walk(), cases.walk(), cases.edge());
    let (r, s) = (cases.r(&nonce.point), number(&edge));
    let digest = cases.digest(&key.number, &nonce.number, &r, &s);
    let check =
        EcdsaCheck { digest: bytes(&digest), r: bytes(&r), s: edge, key: cases.key(&key.point) };
    (check, Some(s != BigUint::ZERO && s < cases.n))
}

/// Some are above n.
fn digest_at_bounds(cases: &mut Generator) -> Case {
    let (key, nonce, digest) = (cases.walk(), cases.chosen_point(), cases.edge());
    let r = cases.r(&nonce.point);
    let s = (number(&digest) + &r * &key.number) * cases.inverse(&nonce.number) % &cases.n;
    let mut check = cases.check(&BigUint::ZERO, &r, &s, &key.point);
    check.digest = digest;
    (check, Some(true))
}

fn flipped(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    let random = &mut cases.random;
    match random.below(4) {
        0 => random.flip(&mut check.digest),
        1 => random.flip(&mut check.r),
        2 => random.flip(&mut check.s),
        _ => match &mut check.key {
            Key::Compressed(bytes) => random.flip(bytes),
            Key::Uncompressed(bytes) => random.flip(bytes),
        },
    }
    // a flip between 4 and 6 can change the form of a key and nothing else
    (check, None)
}

fn forms(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    let form = match cases.random.below(4) {
        0 => cases.random.next() as u8,
        _ => cases.random.below(9) as u8,
    };
    match &mut check.key {
        Key::Compressed(bytes) => bytes[0] = form,
        Key::Uncompressed(bytes) => bytes[0] = form,
    }
    (check, None)
}

/// Keys with another x or another y, most of which are on no point.
fn off_curve(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    match &mut check.key {
        Key::Compressed(key) => cases.random.flip(&mut key[1..]),
        Key::Uncompressed(key) => match cases.random.below(4) {
            0 => key[1..].fill(0),
            1 => key[33..].fill(0),
            2 => {
                // the opposite point, but for hybrid keys, whose form says otherwise
                let y = BigUint::from_bytes_be(&key[33..]);
                key[33..].copy_from_slice(&bytes(&(&cases.p - y)));
            }
            _ => cases.random.flip(&mut key[1..]),
        },
    }
    (check, Some(false))
}

/// Keys whose x is so small that x + p fits as well, which is not valid.
fn small_keys(cases: &mut Generator) -> Case {
    loop {
        let x = BigUint::from(cases.random.below(60));
        let Some(key) = points::lift(&bytes(&x), cases.random.coin()) else { continue };
        let (u1, u2) = (cases.chosen_point(), cases.chosen());
        let Some(sum) = points::sum(&u1.point, &points::times(&bytes(&u2), &key)) else { continue };
        let r = cases.r(&sum);
        let s = &r * cases.inverse(&u2) % &cases.n;
        let digest = u1.number * &s % &cases.n;
        let mut check = cases.check(&digest, &r, &s, &key);
        let plus_p = cases.random.coin();
        if plus_p {
            let x = bytes(&(x + &cases.p));
            match &mut check.key {
                Key::Compressed(bytes) => bytes[1..].copy_from_slice(&x),
                Key::Uncompressed(bytes) => bytes[1..33].copy_from_slice(&x),
            }
        }
        return (check, Some(!plus_p));
    }
}

/// Sums whose x is r or, as n is below p, r + n, for an r that is small.
fn r_or_r_plus_n(cases: &mut Generator) -> Case {
    loop {
        let r = BigUint::from(cases.random.below(60) + 1);
        let x = if cases.random.coin() { &r + &cases.n } else { r.clone() };
        let Some(sum) = points::lift(&bytes(&x), cases.random.coin()) else { continue };
        let (u1, u2) = (cases.chosen(), cases.chosen());
        let opposite = multiple(&cases.negate(&u1));
        let Some(term) = points::sum(&sum, &opposite) else { continue };
        let key = points::times(&bytes(&cases.inverse(&u2)), &term);
        let s = &r * cases.inverse(&u2) % &cases.n;
        let digest = u1 * &s % &cases.n;
        return (cases.check(&digest, &r, &s, &key), Some(true));
    }
}

/// Signatures whose sum has an x that is not r, but differs from it by a number of the curve.
fn r_next_to_x(cases: &mut Generator) -> Case {
    let (key, nonce, s) = (cases.walk(), cases.walk(), cases.any());
    let x = number(&coordinates(&nonce.point).0);
    let all = super::power_of_two(256);
    let r = match cases.random.below(8) {
        0 => &x + 1u8,
        1 => &x + &all - 1u8,
        2 => &x + &cases.n,
        3 => &x + &cases.p,
        4 => &x + &cases.p - &cases.n,
        5 => &x + &cases.n + &all - &cases.p,
        6 => &cases.n - &x % &cases.n,
        _ => &x + super::power_of_two(cases.random.below(256)),
    } % all;
    let digest = cases.digest(&key.number, &nonce.number, &r, &s);
    (cases.check(&digest, &r, &s, &key.point), Some(false))
}

/// Keys and nonces that are images of others.
fn images(cases: &mut Generator) -> Case {
    let (key, nonce) = (cases.walk(), cases.walk());
    let key = if cases.random.coin() { cases.image(&key) } else { key };
    let nonce = if cases.random.coin() { cases.image(&nonce) } else { nonce };
    cases.signed(&key, &nonce)
}

/// A check of the image of the key, or with the x of the sum's image.
fn other_image(cases: &mut Generator) -> Case {
    let (key, nonce, s) = (cases.walk(), cases.walk(), cases.any());
    let (mut q, mut point) = (key.clone(), nonce.clone());
    if cases.random.coin() {
        q = cases.image(&key);
    } else {
        point = cases.image(&nonce);
    }
    let r = cases.r(&point.point);
    let digest = cases.digest(&key.number, &nonce.number, &r, &s);
    (cases.check(&digest, &r, &s, &q.point), Some(false))
}

fn mixed_up(cases: &mut Generator) -> Case {
    let (mut check, _) = signature(cases);
    match cases.random.below(6) {
        0 => std::mem::swap(&mut check.r, &mut check.s),
        1 => std::mem::swap(&mut check.r, &mut check.digest),
        2 => check.s = check.r,
        3 => (check.r, check.s, check.digest) = ([0; 32], [0; 32], [0; 32]),
        4 => (check.r, check.s, check.digest) = ([255; 32], [255; 32], [255; 32]),
        _ => {
            let other = signature(cases).0;
            check.key = other.key;
        }
    }
    (check, None)
}
