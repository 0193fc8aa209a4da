//! Points of secp256k1, made of each other by sums of libsecp256k1, which cost little.

use num_bigint::BigUint;
use secp256k1::{PublicKey, Scalar, SecretKey};
use std::sync::OnceLock;

/// A point that is not at infinity.
pub type Point = PublicKey;

/// `digit * 256^place * G` for each place and each digit that is not 0.
fn table() -> &'static [Vec<Point>] {
    static TABLE: OnceLock<Vec<Vec<Point>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let one = SecretKey::from_secret_bytes(std::array::from_fn(|i| u8::from(i == 31)));
        let mut power = PublicKey::from_secret_key(&one.unwrap());
        let row = |_| {
            let mut row = vec![power];
            for _ in 1..255 {
                row.push(row[row.len() - 1].combine(&power).unwrap());
            }
            power = row[254].combine(&power).unwrap();
            row
        };
        (0..32).map(row).collect()
    })
}

/// `number * G`, for a number below n that is not 0.
pub fn multiple(number: &BigUint) -> Point {
    let digits = number.to_bytes_le();
    let rows = table().iter().zip(digits).filter(|(_, digit)| *digit != 0);
    let terms: Vec<_> = rows.map(|(row, digit)| &row[usize::from(digit) - 1]).collect();
    PublicKey::combine_keys(&terms).unwrap()
}

/// None if the sum is at infinity.
pub fn sum(a: &Point, b: &Point) -> Option<Point> {
    a.combine(b).ok()
}

/// `number * point`, for a number below n that is not 0; takes ten times as long as a sum.
pub fn times(number: &[u8; 32], point: &Point) -> Point {
    point.mul_tweak(&Scalar::from_be_bytes(*number).unwrap()).unwrap()
}

/// The point with this x, if there is one.
pub fn lift(x: &[u8; 32], odd: bool) -> Option<Point> {
    let mut key = [2 + u8::from(odd); 33];
    key[1..].copy_from_slice(x);
    PublicKey::from_byte_array_compressed(key).ok()
}

/// x and y.
pub fn coordinates(point: &Point) -> ([u8; 32], [u8; 32]) {
    let [_form, rest @ ..] = point.serialize_uncompressed();
    let (halves, _) = rest.as_chunks();
    (halves[0], halves[1])
}
