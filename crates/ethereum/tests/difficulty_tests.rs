//! Every vector of the public DifficultyTests gives the expected difficulty, in both arithmetics.

use crate::vectors;
use blockmill_ethereum::U256;
use blockmill_ethereum::difficulty::{Formula, Parent};
use blockmill_ethereum::difficulty_bigint;
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
    assert_eq!(difficulty_bigint::next(formula, time, &parent), expected, "{name}");
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
