//! The difficulty calculators, in the four cases that go-ethereum measures
//! (`BenchmarkDifficultyCalculator`: Frontier and Homestead rules, big and 256-bit integers), and
//! with the rules from Byzantium on.
//!
//! `cargo bench -p blockmill-ethereum --bench difficulty`

use blockmill_ethereum::U256;
use blockmill_ethereum::difficulty::{Formula, Parent};
use criterion::Criterion;
use std::hint::black_box;

#[path = "../../bench/src/baselines/ethereum_headers/big_integers.rs"]
mod big_integers;

fn difficulty(c: &mut Criterion) {
    let parent = Parent {
        number: 500_000,
        timestamp: 1_000_000,
        difficulty: U256::from(0xff_ffff),
        has_ommers: false,
    };
    let time = parent.timestamp + 14;
    for (name, formula) in [
        ("frontier", Formula::Frontier),
        ("homestead", Formula::Homestead),
        ("byzantium", Formula::Byzantium { bomb_delay: 1_000_000 }),
    ] {
        assert_eq!(formula.next(time, &parent), big_integers::next(formula, time, &parent));
        c.bench_function(&format!("difficulty/bigint/{name}"), |b| {
            b.iter(|| big_integers::next(black_box(formula), time, black_box(&parent)));
        });
        c.bench_function(&format!("difficulty/u256/{name}"), |b| {
            b.iter(|| black_box(formula).next(time, black_box(&parent)));
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    difficulty(&mut criterion);
    criterion.final_summary();
}
