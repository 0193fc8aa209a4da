//! Points of P-256 (FIPS 186-4, D.1.2.3): `y^2 = x^3 - 3x + b`.

use super::modular::{Limbs, Modulus, Number, Order, Prime, limbs_of};
use std::sync::OnceLock;

pub(super) type Field = Number<Prime>;

/// Bits of a digit of the multiplier of a key, and of the generator, which keeps its table.
const KEY_WIDTH: u32 = 5;
const GENERATOR_WIDTH: u32 = 8;
/// Odd multiples of a point that such digits ask for.
const KEY_MULTIPLES: usize = 1 << (KEY_WIDTH - 2);
const GENERATOR_MULTIPLES: usize = 1 << (GENERATOR_WIDTH - 2);
/// A multiplier has a digit for each bit, and one more for a carry.
const DIGITS: usize = 257;

const B: [u8; 32] = [
    0x5a, 0xc6, 0x35, 0xd8, 0xaa, 0x3a, 0x93, 0xe7, 0xb3, 0xeb, 0xbd, 0x55, 0x76, 0x98, 0x86, 0xbc,
    0x65, 0x1d, 0x06, 0xb0, 0xcc, 0x53, 0xb0, 0xf6, 0x3b, 0xce, 0x3c, 0x3e, 0x27, 0xd2, 0x60, 0x4b,
];
const GENERATOR_X: [u8; 32] = [
    0x6b, 0x17, 0xd1, 0xf2, 0xe1, 0x2c, 0x42, 0x47, 0xf8, 0xbc, 0xe6, 0xe5, 0x63, 0xa4, 0x40, 0xf2,
    0x77, 0x03, 0x7d, 0x81, 0x2d, 0xeb, 0x33, 0xa0, 0xf4, 0xa1, 0x39, 0x45, 0xd8, 0x98, 0xc2, 0x96,
];
const GENERATOR_Y: [u8; 32] = [
    0x4f, 0xe3, 0x42, 0xe2, 0xfe, 0x1a, 0x7f, 0x9b, 0x8e, 0xe7, 0xeb, 0x4a, 0x7c, 0x0f, 0x9e, 0x16,
    0x2b, 0xce, 0x33, 0x57, 0x6b, 0x31, 0x5e, 0xce, 0xcb, 0xb6, 0x40, 0x68, 0x37, 0xbf, 0x51, 0xf5,
];

/// A point in Jacobian coordinates: `(x / z^2, y / z^3)`, the point at infinity if z is 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) x: Field,
    pub(super) y: Field,
    pub(super) z: Field,
}

/// `x^3 - 3x + b`.
fn right_side(x: &Field) -> Field {
    let b = Field::reduced(limbs_of(&B));
    let three = Field::ONE.doubled().plus(&Field::ONE);
    x.squared().minus(&three).times(x).plus(&b)
}

impl Point {
    const INFINITY: Self = Self { x: Field::ONE, y: Field::ONE, z: Field::ZERO };

    fn generator() -> Self {
        let coordinate = |bytes| Field::reduced(limbs_of(bytes));
        Self { x: coordinate(&GENERATOR_X), y: coordinate(&GENERATOR_Y), z: Field::ONE }
    }

    /// The point with these coordinates, if it is on the curve.
    pub(super) fn new(x: &[u8; 32], y: &[u8; 32]) -> Option<Self> {
        let (x, y) = (Field::of_bytes(x)?, Field::of_bytes(y)?);
        (y.squared() == right_side(&x)).then_some(Self { x, y, z: Field::ONE })
    }

    /// The point with this x and an even or odd y, if the curve has one.
    pub(super) fn with_x(x: &[u8; 32], odd: bool) -> Option<Self> {
        // (p + 1) / 4: p is 3 modulo 4
        const ROOT: Limbs = [0, 1 << 30, 1 << 62, Prime::M[3] >> 2];
        let x = Field::of_bytes(x)?;
        let square = right_side(&x);
        let root = square.power(ROOT);
        let y = if (root.limbs()[0] & 1 == 1) == odd { root } else { root.negated() };
        (root.squared() == square).then_some(Self { x, y, z: Field::ONE })
    }

    /// The formula dbl-2001-b of the Explicit-Formulas Database.
    #[inline]
    fn doubled(&self) -> Self {
        let (zz, yy) = (self.z.squared(), self.y.squared());
        let xyy = self.x.times(&yy);
        let product = self.x.minus(&zz).times(&self.x.plus(&zz));
        let slope = product.doubled().plus(&product);
        let xyy_4 = xyy.doubled().doubled();
        let x = slope.squared().minus(&xyy_4.doubled());
        let yyyy_8 = yy.squared().doubled().doubled().doubled();
        Self {
            x,
            y: slope.times(&xyy_4.minus(&x)).minus(&yyyy_8),
            z: self.y.plus(&self.z).squared().minus(&yy).minus(&zz),
        }
    }

    /// The sum, with fewer products if z of `other` is 1.
    #[inline]
    fn plus(&self, other: &Self) -> Self {
        if self.z.is_zero() {
            return *other;
        }
        if other.z.is_zero() {
            return *self;
        }
        let zz = self.z.squared();
        let (mut x, mut y, mut z) = (self.x, self.y, self.z);
        if other.z != Field::ONE {
            let zz = other.z.squared();
            (x, y, z) = (x.times(&zz), y.times(&zz).times(&other.z), z.times(&other.z));
        }
        let run = other.x.times(&zz).minus(&x);
        let rise = other.y.times(&zz).times(&self.z).minus(&y);
        if run.is_zero() {
            return if rise.is_zero() { self.doubled() } else { Self::INFINITY };
        }
        let run_2 = run.squared();
        let run_3 = run_2.times(&run);
        let middle = x.times(&run_2);
        let x = rise.squared().minus(&run_3).minus(&middle.doubled());
        let y = rise.times(&middle.minus(&x)).minus(&y.times(&run_3));
        Self { x, y, z: z.times(&run) }
    }

    fn negated(&self) -> Self {
        Self { y: self.y.negated(), ..*self }
    }

    /// The point with z = 1; the point at infinity has no such form.
    fn normalised(&self) -> Self {
        let inverse = self.z.inverse();
        let square = inverse.squared();
        let (x, y) = (self.x.times(&square), self.y.times(&square).times(&inverse));
        Self { x, y, z: Field::ONE }
    }

    /// This point times 1, 3, 5, ...
    fn odd_multiples<const N: usize>(&self) -> [Self; N] {
        let twice = self.doubled();
        let mut multiples = [*self; N];
        for i in 1..N {
            multiples[i] = multiples[i - 1].plus(&twice);
        }
        multiples
    }

    /// `generator_times * G + times * self`.
    pub(super) fn combined(&self, generator_times: Limbs, times: Limbs) -> Self {
        static GENERATOR: OnceLock<[Point; GENERATOR_MULTIPLES]> = OnceLock::new();
        let generator = GENERATOR
            .get_or_init(|| Self::generator().odd_multiples().map(|point| point.normalised()));
        let key = self.odd_multiples::<KEY_MULTIPLES>();
        let generator_digits = digits(generator_times, GENERATOR_WIDTH);
        let key_digits = digits(times, KEY_WIDTH);
        let mut sum = Self::INFINITY;
        for (of_generator, of_key) in generator_digits.iter().zip(&key_digits).rev() {
            sum = sum.doubled();
            sum = sum.plus_multiple(generator, *of_generator);
            sum = sum.plus_multiple(&key, *of_key);
        }
        sum
    }

    #[inline]
    fn plus_multiple(&self, odd_multiples: &[Self], digit: i8) -> Self {
        match digit {
            0 => *self,
            1.. => self.plus(&odd_multiples[usize::from(digit.unsigned_abs() / 2)]),
            ..0 => self.plus(&odd_multiples[usize::from(digit.unsigned_abs() / 2)].negated()),
        }
    }

    /// Whether x of this point, modulo the group's order, is `r`, which is below the order.
    pub(super) fn has_x_modulo_order(&self, r: Limbs) -> bool {
        if self.z.is_zero() {
            return false;
        }
        let zz = self.z.squared();
        let is_x = |limbs| self.x == Field::reduced(limbs).times(&zz);
        is_x(r) || wrapped(r).is_some_and(is_x)
    }
}

/// `r + n`, if that is below the prime.
fn wrapped(r: Limbs) -> Option<Limbs> {
    let n = Order::M;
    let mut carry = 0;
    let sum = core::array::from_fn(|i| {
        let sum = u128::from(r[i]) + u128::from(n[i]) + carry;
        carry = sum >> 64;
        sum as u64
    });
    (carry == 0 && super::modular::difference_of(sum, Prime::M).1 == 1).then_some(sum)
}

/// The digits of a number below the order, the lowest first, whose sum `digit * 2^i` is the number:
/// odd ones between `-2^(width - 1)` and `2^(width - 1)`, each followed by `width - 1` zeros.
fn digits(mut number: Limbs, width: u32) -> [i8; DIGITS] {
    let mut digits = [0; DIGITS];
    for digit in &mut digits {
        if number[0] & 1 == 1 {
            let low = (number[0] & ((1 << width) - 1)) as i64;
            let signed = if low >= 1 << (width - 1) { low - (1 << width) } else { low };
            *digit = signed as i8;
            // the order is so far below 2^256 that no carry leaves the highest limb
            let mut carry = i128::from(-signed);
            for limb in &mut number {
                carry += i128::from(*limb);
                *limb = carry as u64;
                carry >>= 64;
            }
        }
        for i in 0..4 {
            let above = number.get(i + 1).map_or(0, |limb| limb << 63);
            number[i] = number[i] >> 1 | above;
        }
    }
    digits
}

/// x and y of `2^bit` times the generator in big-endian bytes; none for a multiple of the order.
pub(crate) fn power_of_generator(bit: usize) -> Option<([u8; 32], [u8; 32])> {
    let mut point = Point::generator();
    for _ in 0..bit {
        point = point.doubled();
    }
    if point.z.is_zero() {
        return None;
    }
    let Point { x, y, .. } = point.normalised();
    Some((x.to_bytes(), y.to_bytes()))
}
