//! Against published tables, and against chances that are drawn.

use super::*;
use blockmill_testkit::Random;

#[test]
fn intervals_begin_where_the_tables_of_signed_ranks_say() {
    // critical values of Wilcoxon's test, two-sided 5 %: a sum of at most this is significant, so
    // the interval begins one mean after it
    for (n, critical) in [(6, 0), (7, 2), (8, 3), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137)]
    {
        assert_eq!(rank(n), critical + 1, "{n}");
    }
    for n in 0..6 {
        assert_eq!(rank(n), 0, "{n} pairs bound nothing");
    }
    let (exact, normal) = (rank(EXACT), rank(EXACT + 1));
    assert!(normal > exact && normal < exact + 45, "{exact}, then {normal}");
}

#[test]
fn few_pairs_bound_nothing_and_none_say_nothing() {
    let estimate = Estimate::of(&[1.1, 1.2, 1.3]).unwrap();
    assert!((estimate.ratio - 1.2).abs() < 0.01, "{estimate:?}");
    assert_eq!((estimate.low, estimate.high), (0.0, f64::INFINITY));
    assert!(!estimate.differs(0.0));
    assert_eq!(estimate.reach(), f64::INFINITY);
    assert_eq!(Estimate::of(&[]), None);
    assert_eq!(Estimate::of(&[1.0, 0.0]), None);
}

#[test]
fn one_wild_run_moves_nothing_much() {
    let mut ratios = vec![1.00, 1.01, 0.99, 1.02, 0.98, 1.00, 1.01, 0.99, 1.00, 1.01];
    let calm = Estimate::of(&ratios).unwrap();
    ratios[3] = 40.0;
    let wild = Estimate::of(&ratios).unwrap();
    assert!((wild.ratio / calm.ratio - 1.0).abs() < 0.01, "{calm:?} {wild:?}");
    assert!(wild.low > 0.97 && wild.low <= wild.ratio);
}

#[test]
fn a_ratio_and_its_inverse_are_the_same_finding() {
    let ratios = [1.31, 1.22, 1.27, 1.29, 1.40, 1.18, 1.25];
    let there = Estimate::of(&ratios).unwrap();
    let back = Estimate::of(&ratios.map(|ratio| 1.0 / ratio)).unwrap();
    assert!((there.ratio * back.ratio - 1.0).abs() < 1e-12);
    assert!((there.low * back.high - 1.0).abs() < 1e-12);
    assert!(there.differs(0.1) && back.differs(0.1) && !there.differs(0.5) && !back.differs(0.5));
}

/// The interval covers the true value in 95 % of cases, for any distribution of the numbers.
#[test]
fn intervals_hold_what_they_promise() {
    let mut random = Random::new(7);
    let mut unit = move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    type Scatter = fn(f64) -> f64;
    let scatters: [(&str, Scatter); 3] = [
        ("evenly", |u| u - 0.5),
        ("with wild ones", |u| (u - 0.5) / (u * (1.0 - u)).max(1e-6)),
        ("in two heaps", |u| if u < 0.5 { u - 1.0 } else { u }),
    ];
    for (name, scatter) in scatters {
        let mut held = 0;
        for _ in 0..2_000 {
            let ratios: Vec<f64> = (0..12).map(|_| (0.02 * scatter(unit())).exp() * 1.5).collect();
            let estimate = Estimate::of(&ratios).unwrap();
            held += usize::from(estimate.low <= 1.5 && 1.5 <= estimate.high);
        }
        assert!((1_880..=1_960).contains(&held), "{name}: {held} of 2000");
    }
}

#[test]
fn growth_is_found_again() {
    let points = [1e3, 1e4, 1e5, 1e6].map(|x: f64| (x, 3.0 * x.powf(1.2)));
    let growth = Growth::of(&points).unwrap();
    assert!((growth.exponent - 1.2).abs() < 1e-9 && growth.error < 1e-6, "{growth:?}");
    assert!((growth.at(1e5) / points[2].1 - 1.0).abs() < 1e-9);
    assert_eq!(Growth::of(&[(5.0, 1.0), (5.0, 2.0)]), None);
    assert_eq!(Growth::of(&[(5.0, 1.0)]), None);
}

#[test]
fn quartiles_hold_the_middle_half() {
    assert_eq!(quartiles(&[5.0, 1.0, 2.0, 3.0, 4.0]), Some((2.0, 4.0)));
    assert_eq!(quartiles(&[1.0, 2.0]), Some((1.25, 1.75)));
    assert_eq!(quartiles(&[1.0]), None);
}
