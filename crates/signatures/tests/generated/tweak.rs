//! Tweaked keys (BIP341): `tweaked = key + tweak * G`, where y of the key is even.

use blockmill_signatures::TweakCheck;
use num_bigint::BigUint;

use super::points::{self, Point, coordinates, multiple};
use super::{Generator, Kind, Known, bytes, random, structured};

type Case = (TweakCheck, Option<bool>);

/// Every kind; the first comes more often than the other random ones.
pub const KINDS: [Kind<TweakCheck, bool>; 16] = [
    random("tweaked keys", tweaked),
    random("one number replaced by a random one", replaced),
    structured("chosen keys and tweaks", chosen),
    structured("equal terms", |cases| {
        let key = cases.chosen_point();
        let (key, _) = cases.even_point(&key);
        cases.tweak(&key, &key)
    }),
    structured("sums at infinity", infinite),
    structured("sums that meet a multiple of G", meeting),
    structured("a tweak of 0", no_tweak),
    structured("the wrong parity", wrong_parity),
    structured("the key's opposite", opposite_key),
    structured("numbers at their bounds", edges),
    structured("a flipped bit", flipped),
    structured("keys off the curve", off_curve),
    structured("small x, and x + p", small_x),
    structured("images of the endomorphism", images),
    structured("repeated keys", |cases| {
        let (key, tweak) = (cases.regular(), cases.walk());
        cases.tweak(&key, &tweak)
    }),
    structured("mixed up", mixed_up),
];

fn of_point(key: &[u8; 32], tweak: &BigUint, sum: &Point) -> TweakCheck {
    let (x, y) = coordinates(sum);
    TweakCheck { key: *key, tweak: bytes(tweak), tweaked: x, odd: y[31] & 1 == 1 }
}

impl Generator {
    /// The point or its opposite, whichever has an even y; and whether it is the opposite.
    fn even_point(&self, known: &Known) -> (Known, bool) {
        let (x, number) = self.even(known);
        let point = points::lift(&x, false).expect("x of a point");
        (Known { number, point }, coordinates(&known.point).1[31] & 1 == 1)
    }

    /// The key plus the tweak's point. Not valid if that is at infinity.
    fn tweak(&mut self, key: &Known, tweak: &Known) -> Case {
        let (key, _) = self.even_point(key);
        let x = coordinates(&key.point).0;
        match points::sum(&key.point, &tweak.point) {
            Some(sum) => (of_point(&x, &tweak.number, &sum), Some(true)),
            None => (of_point(&x, &tweak.number, &key.point), Some(false)),
        }
    }
}

fn tweaked(cases: &mut Generator) -> Case {
    let (key, tweak) = (cases.walk(), cases.walk());
    cases.tweak(&key, &tweak)
}

fn replaced(cases: &mut Generator) -> Case {
    let (mut check, _) = tweaked(cases);
    let bytes = cases.random.bytes();
    match cases.random.below(3) {
        0 => check.key = bytes,
        1 => check.tweak = bytes,
        _ => check.tweaked = bytes,
    }
    (check, Some(false))
}

fn chosen(cases: &mut Generator) -> Case {
    let (key, tweak) = (cases.chosen_point(), cases.chosen_point());
    cases.tweak(&key, &tweak)
}

/// The tweak is the opposite of the key's number, and the sum said to be any point.
fn infinite(cases: &mut Generator) -> Case {
    let (key, other) = (cases.chosen_point(), cases.walk());
    let (key, _) = cases.even_point(&key);
    let tweak = cases.negate(&key.number);
    (of_point(&coordinates(&key.point).0, &tweak, &other.point), Some(false))
}

fn meeting(cases: &mut Generator) -> Case {
    let (tweak, key) = cases.meeting();
    let key = Known { point: multiple(&key), number: key };
    // the opposite key meets the opposite multiples
    let (key, is_opposite) = cases.even_point(&key);
    let tweak = cases.negated_if(is_opposite, tweak);
    let tweak = Known { point: multiple(&tweak), number: tweak };
    cases.tweak(&key, &tweak)
}

/// The tweak is 0, or n, which is not valid.
fn no_tweak(cases: &mut Generator) -> Case {
    let key = cases.chosen_point();
    let (key, _) = cases.even_point(&key);
    let is_zero = cases.random.coin();
    let tweak = if is_zero { BigUint::ZERO } else { cases.n.clone() };
    (of_point(&coordinates(&key.point).0, &tweak, &key.point), Some(is_zero))
}

fn wrong_parity(cases: &mut Generator) -> Case {
    let (mut check, _) = tweaked(cases);
    check.odd = !check.odd;
    (check, Some(false))
}

/// The sum is that of the point with the key's x and an odd y.
fn opposite_key(cases: &mut Generator) -> Case {
    let (key, tweak) = (cases.walk(), cases.walk());
    let (x, _) = coordinates(&key.point);
    match points::lift(&x, true).and_then(|odd| points::sum(&odd, &tweak.point)) {
        Some(sum) => (of_point(&x, &tweak.number, &sum), Some(false)),
        None => opposite_key(cases),
    }
}

fn edges(cases: &mut Generator) -> Case {
    let (mut check, _) = tweaked(cases);
    let (edge, other) = (cases.edge(), cases.edge());
    match cases.random.below(4) {
        0 => check.key = edge,
        1 => check.tweak = edge,
        2 => check.tweaked = edge,
        _ => (check.key, check.tweak) = (edge, other),
    }
    (check, None)
}

fn flipped(cases: &mut Generator) -> Case {
    let (mut check, _) = tweaked(cases);
    match cases.random.below(3) {
        0 => cases.random.flip(&mut check.key),
        1 => cases.random.flip(&mut check.tweak),
        _ => cases.random.flip(&mut check.tweaked),
    }
    (check, Some(false))
}

fn off_curve(cases: &mut Generator) -> Case {
    let (mut check, _) = tweaked(cases);
    let x = cases.no_x();
    match cases.random.coin() {
        true => check.key = x,
        false => check.tweaked = x,
    }
    (check, Some(false))
}

/// The key or the sum has so small an x that x + p fits as well, which is not valid.
fn small_x(cases: &mut Generator) -> Case {
    let (x, tweak) = (BigUint::from(cases.random.below(60)), cases.walk());
    let of_key = cases.random.coin();
    let Some(point) = points::lift(&bytes(&x), !of_key && cases.random.coin()) else {
        return small_x(cases);
    };
    let opposite = cases.negate(&tweak.number);
    let mut check = if of_key {
        let Some(sum) = points::sum(&point, &tweak.point) else { return small_x(cases) };
        of_point(&bytes(&x), &tweak.number, &sum)
    } else {
        // the key is the sum less the tweak's point; if its y is odd, all are replaced by opposites
        let Some(key) = points::sum(&point, &multiple(&opposite)) else { return small_x(cases) };
        let (key, y) = coordinates(&key);
        let mut check = of_point(&key, &tweak.number, &point);
        if y[31] & 1 == 1 {
            (check.tweak, check.odd) = (bytes(&opposite), !check.odd);
        }
        check
    };
    let plus_p = cases.random.coin();
    if plus_p {
        let x = bytes(&(x + &cases.p));
        if of_key { check.key = x } else { check.tweaked = x }
    }
    (check, Some(!plus_p))
}

/// Keys and tweaks that are images of others.
fn images(cases: &mut Generator) -> Case {
    let (key, tweak) = (cases.walk(), cases.walk());
    let key = if cases.random.coin() { cases.image(&key) } else { key };
    let tweak = if cases.random.coin() { cases.image(&tweak) } else { tweak };
    cases.tweak(&key, &tweak)
}

fn mixed_up(cases: &mut Generator) -> Case {
    let (mut check, _) = tweaked(cases);
    match cases.random.below(5) {
        0 => std::mem::swap(&mut check.key, &mut check.tweak),
        1 => std::mem::swap(&mut check.key, &mut check.tweaked),
        2 => check.tweak = check.key,
        3 => (check.key, check.tweak, check.tweaked) = ([0; 32], [0; 32], [0; 32]),
        _ => (check.key, check.tweak, check.tweaked) = ([255; 32], [255; 32], [255; 32]),
    }
    // key and sum swapped can be valid: with an odd y, the sum's opposite is tweaked to the key's
    (check, None)
}
