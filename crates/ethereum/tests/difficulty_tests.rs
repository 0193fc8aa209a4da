//! Difficulties against the public DifficultyTests, and against integers without bounds.

use crate::{big_integers, vectors};
use blockmill_ethereum::U256;
use blockmill_ethereum::difficulty::{Formula, Parent};
use blockmill_testkit::Random;
use serde_json::Value;

/// The formula of a network's name in these tests.
fn formula(network: &str) -> Formula {
    let bomb_delay = match network {
        "Frontier" => return Formula::Frontier,
        "Homestead" => return Formula::Homestead,
        "Byzantium" => 3_000_000,
        "Constantinople" => 5_000_000,
        "Berlin" => 9_000_000,
        "ArrowGlacier" => 10_700_000,
        "GrayGlacier" => 11_400_000,
        other => panic!("unknown network {other}"),
    };
    Formula::Byzantium { bomb_delay }
}

fn number(vector: &Value, field: &str) -> U256 {
    let text = vector[field].as_str().unwrap();
    text.parse().unwrap_or_else(|_| panic!("{field}: {text}"))
}

fn check(formula: Formula, name: &str, vector: &Value) {
    let parent = Parent {
        number: number(vector, "currentBlockNumber").to::<u64>() - 1,
        timestamp: number(vector, "parentTimestamp").to(),
        difficulty: number(vector, "parentDifficulty"),
        has_ommers: !number(vector, "parentUncles").is_zero(),
    };
    let time = number(vector, "currentTimestamp").to();
    let expected = Some(number(vector, "currentDifficulty"));
    assert_eq!(formula.next(time, &parent), expected, "{name}");
    assert_eq!(big_integers::next(formula, time, &parent), expected, "{name}");
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn every_difficulty_vector_gives_the_expected_difficulty() {
    let mut count = 0;
    vectors::for_each_file(&["DifficultyTests/"], |_, text| {
        let file: Value = serde_json::from_str(text).unwrap();
        for suite in file.as_object().unwrap().values() {
            let networks = suite.as_object().unwrap();
            for (network, vectors) in networks.iter().filter(|(name, _)| *name != "_info") {
                let formula = formula(network);
                for (name, vector) in vectors.as_object().unwrap() {
                    check(formula, name, vector);
                    count += 1;
                }
            }
        }
    });
    println!("{count} difficulty vectors");
    assert!(count > 10_000, "only {count} vectors");
}

fn random_parent(random: &mut Random) -> (u64, Parent) {
    let limbs: [u64; 4] = std::array::from_fn(|_| random.next_u64());
    let bits = random.below(257);
    let difficulty = if bits == 0 { U256::ZERO } else { U256::from_limbs(limbs) >> (256 - bits) };
    let number = random.any_length();
    let timestamp = random.next_u64() >> 1;
    let wait = random.any_length() >> 1;
    let has_ommers = random.coin();
    (timestamp + wait, Parent { number, timestamp, difficulty, has_ommers })
}

#[test]
fn fast_and_big_integer_difficulties_are_equal() {
    let mut random = Random::new(1);
    let mut wide = 0;
    for _ in 0..100_000 {
        let (time, parent) = random_parent(&mut random);
        let delays = [3, 5, 9, 9_700, 10_700, 11_400].map(|delay| delay * 1_000_000);
        let bomb_delay = random.pick(&delays);
        for formula in [Formula::Frontier, Formula::Homestead, Formula::Byzantium { bomb_delay }] {
            let fast = formula.next(time, &parent);
            let big = big_integers::next(formula, time, &parent);
            assert_eq!(fast, big, "{formula:?} {time} {parent:?}");
            wide += usize::from(fast.is_none());
        }
    }
    assert!(wide > 0, "some difficulties must be too big");
}

#[test]
fn a_bomb_beyond_256_bits_is_no_difficulty() {
    let parent =
        Parent { number: u64::MAX, timestamp: 0, difficulty: U256::ONE, has_ommers: false };
    assert_eq!(Formula::Frontier.next(1, &parent), None);
    assert_eq!(big_integers::next(Formula::Frontier, 1, &parent), None);
}
