//! Comparisons of simulated runs: their times are those of real ones, drawn again.

use super::*;
use anyhow::bail;
use blockmill_pipeline::record::{Load, Program, WALL_S};

/// Wall times in seconds of an import of 400,000 headers, 48 runs one after the other on a machine
/// of two cores. One run differs from the next by 7 % (the standard deviation), and five per cent
/// take a hundred pairs to see.
const RECORDED: &str = include_str!("recorded.txt");

fn recorded() -> Vec<f64> {
    RECORDED.lines().filter(|line| !line.starts_with('#')).map(|l| l.parse().unwrap()).collect()
}

/// Draws run times; variants have factors.
struct Simulated {
    times: Vec<f64>,
    chance: fastrand::Rng,
    labels: Vec<String>,
    factors: Vec<f64>,
    /// By which the machine becomes slower with each run.
    drift: f64,
    /// The runs, counted from 0, in which others take a fifth of the machine and everything takes
    /// three times as long.
    disturbed: fn(usize) -> bool,
    answer: fn(usize, usize) -> &'static str,
    runs: usize,
    clock: f64,
    lines: Vec<String>,
}

impl Simulated {
    fn new(seed: u64, factors: &[f64]) -> Self {
        let mut labels = vec!["blockmill".to_owned(), "again".to_owned()];
        labels.extend((2..factors.len()).map(|at| format!("variant {at}")));
        Self {
            times: recorded(),
            chance: fastrand::Rng::with_seed(seed),
            labels,
            factors: factors.to_vec(),
            drift: 1.0,
            disturbed: |_| false,
            answer: |_, _| "0x01",
            runs: 0,
            clock: 0.0,
            lines: vec![],
        }
    }

    fn compare(&mut self, rules: &Rules) -> Result<Vec<Run>> {
        let expected = Settings::from([("tip_hash".into(), "0x01".into())]);
        let labels = self.labels.clone();
        compare(&labels, WALL_S, &expected, &vec![BASELINE; labels.len()], rules, self)
    }
}

impl Runner for Simulated {
    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.clock)
    }

    fn run(&mut self, variant: usize) -> Result<RunRecord> {
        let mut record = RunRecord::new(Program::default(), self.labels[variant].clone());
        let drawn = self.times[self.chance.usize(..self.times.len())];
        let disturbed = (self.disturbed)(self.runs);
        let factor = self.factors[variant] * self.drift.powi(self.runs as i32);
        let wall_s = drawn * factor * if disturbed { 3.0 } else { 1.0 };
        record.took(wall_s);
        let others_s = if disturbed { 0.4 * wall_s } else { 0.0 };
        record.load = Some(Load { others_s, available_s: 2.0 * wall_s });
        record.result.tip_hash = (self.answer)(variant, self.runs).to_owned();
        self.runs += 1;
        self.clock += wall_s;
        Ok(record)
    }

    fn progress(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
}

/// Rules by which there are exactly so many pairs.
fn pairs(count: usize) -> Rules {
    let budget = Duration::from_secs(1 << 20);
    Rules { precision: 0.0, budget, least_pairs: count, most_pairs: count, ..Rules::default() }
}

fn noise(runs: &[Run]) -> f64 {
    Pairs::of(runs, AGAIN, BASELINE, WALL_S).estimate().unwrap().reach()
}

#[test]
fn the_same_program_twice_is_no_difference_in_95_of_100_comparisons() {
    let mut differences = 0;
    for seed in 0..100 {
        let mut runner = Simulated::new(seed, &[1.0, 1.0, 1.0]);
        let runs = runner.compare(&Rules { seed, ..pairs(30) }).unwrap();
        let estimate = Pairs::of(&runs, 2, BASELINE, WALL_S).estimate().unwrap();
        assert_eq!(estimate.pairs, 30);
        differences += usize::from(estimate.differs(noise(&runs)));
    }
    assert!(differences <= 5, "{differences} of 100 comparisons found one");
}

#[test]
fn five_per_cent_more_are_found_and_lie_in_the_interval() {
    let (mut found, mut held) = (0, 0);
    for seed in 0..100 {
        let mut runner = Simulated::new(1000 + seed, &[1.0, 1.0, 1.05]);
        let runs = runner.compare(&Rules { seed, ..pairs(120) }).unwrap();
        let estimate = Pairs::of(&runs, 2, BASELINE, WALL_S).estimate().unwrap();
        found += usize::from(estimate.differs(noise(&runs)) && estimate.ratio > 1.0);
        held += usize::from(estimate.low <= 1.05 && 1.05 <= estimate.high);
    }
    assert!(found >= 95 && held >= 90, "found {found} and held {held} of 100");
}

#[test]
fn a_machine_that_becomes_slower_favours_nobody() {
    for drift in [1.01, 0.99] {
        let mut runner = Simulated::new(5, &[1.0, 1.0, 1.2]);
        runner.times = vec![1.0];
        runner.drift = drift;
        let runs = runner.compare(&pairs(30)).unwrap();
        let estimate = Pairs::of(&runs, 2, BASELINE, WALL_S).estimate().unwrap();
        assert!((estimate.ratio / 1.2 - 1.0).abs() < 0.005, "{estimate:?}");
        assert!(estimate.low <= 1.2 && 1.2 <= estimate.high, "{estimate:?}");
    }
}

#[test]
fn disturbed_runs_are_marked_kept_and_do_not_count() {
    let mut runner = Simulated::new(6, &[1.0, 1.0, 1.1]);
    runner.disturbed = |run| run % 10 == 4;
    let runs = runner.compare(&Rules { precision: 0.03, most_pairs: 60, ..pairs(6) }).unwrap();
    let marked = runs.iter().filter(|run| run.disturbed).count();
    assert_eq!(marked, (runner.runs + 5) / 10, "each is kept");
    let found = Pairs::of(&runs, 2, BASELINE, WALL_S);
    assert!(found.calm.len() < found.all.len() && found.calm.len() >= 6);
    let estimate = found.estimate().unwrap();
    assert!(estimate.pairs == found.calm.len() && estimate.high < 1.2, "{estimate:?}");
    assert!(runner.lines.iter().any(|line| line.contains("runs disturbed")), "{:?}", runner.lines);

    runner.disturbed = |_| true;
    let runs = runner.compare(&Rules { most_pairs: 12, ..pairs(6) }).unwrap();
    let found = Pairs::of(&runs, 2, BASELINE, WALL_S);
    assert_eq!(
        (found.calm.len(), found.estimate().unwrap().pairs),
        (0, 12),
        "all, if none is calm"
    );
}

#[test]
fn who_is_known_well_enough_runs_no_more() {
    let mut runner = Simulated::new(7, &[1.0, 1.0, 1.0, 30.0]);
    runner.times = recorded()[..2].to_vec();
    let rules = Rules { budget: Duration::from_secs(1 << 20), ..Rules::default() };
    let runs = runner.compare(&rules).unwrap();
    for variant in 1..4 {
        let estimate = Pairs::of(&runs, variant, BASELINE, WALL_S).estimate().unwrap();
        assert!(
            estimate.half_width() <= 0.02 || estimate.pairs >= rules.most_pairs,
            "{estimate:?}"
        );
    }
    let blocks = runs.iter().map(|run| run.block).max().unwrap() as usize;
    let of = |variant| runs.iter().filter(|run| run.variant == variant).count();
    assert_eq!(of(BASELINE), 2 * blocks + 1, "and one to warm up");
    assert_eq!(of(AGAIN), 2 * blocks);
}

#[test]
fn nobody_warms_up_where_the_rules_say_so() {
    let mut runner = Simulated::new(7, &[1.0, 1.0, 1.0]);
    let runs = runner.compare(&Rules { warm_up: false, ..pairs(2) }).unwrap();
    assert_eq!((runs.len(), runner.runs), (6, 6), "a block of three, there and back");
    assert!(runs.iter().all(|run| run.block == 1));
    assert_eq!(Pairs::of(&runs, 2, BASELINE, WALL_S).all.len(), 2);
}

#[test]
fn a_comparison_ends_with_its_budget_and_after_a_block_at_least() {
    let mut runner = Simulated::new(8, &[1.0, 1.0, 1.0]);
    runner.times = vec![1.0];
    let rules = Rules { precision: -1.0, ..Rules::default() };
    let runs = runner.compare(&Rules { budget: Duration::from_secs(30), ..rules }).unwrap();
    assert_eq!(
        (runs.len(), runner.clock as u64),
        (2 + 4 * 6, 26),
        "a fifth block would be too long"
    );
    let mut runner = Simulated::new(8, &[1.0, 1.0, 1.0]);
    runner.times = vec![1.0];
    let runs = runner.compare(&Rules { budget: Duration::from_secs(10), ..rules }).unwrap();
    assert_eq!(runs.iter().map(|run| run.block).max(), Some(1));
    let estimate = Pairs::of(&runs, 2, BASELINE, WALL_S).estimate().unwrap();
    assert!(estimate.high.is_infinite() && !estimate.differs(0.0), "two pairs say nothing");
    let mut runner = Simulated::new(8, &[1.0, 1.0, 1.0]);
    runner.times = vec![1.0];
    let error = runner.compare(&Rules { budget: Duration::from_secs(5), ..rules }).unwrap_err();
    let why = "two pairs take about 8 s at the speed of the runs so far, the budget is 5 s: \
               --budget 10s, or fewer variants with --only";
    assert!(error.is::<NoTime>() && error.to_string() == why, "{error}");
    assert_eq!(runner.runs, 1, "one run shows it");
}

#[test]
fn a_budget_is_kept_to_within_a_fifth() {
    for (seed, count) in [(1, 3), (2, 8), (3, 35), (4, 120)] {
        let factors: Vec<f64> = (0..count).map(|at| 1.0 + f64::from(at % 5) / 4.0).collect();
        for budget in [5, 20, 60, 600] {
            for may_leave in [true, false] {
                let mut runner = Simulated::new(seed, &factors);
                runner.times.iter_mut().for_each(|time| *time *= 2.0);
                let all = Duration::from_secs(budget);
                let rules = Rules { precision: -1.0, budget: all, may_leave, ..Rules::default() };
                let measured = runner.compare(&rules);
                let text = format!("{count} variants took {} of {budget} s", runner.clock);
                assert!(runner.clock <= 1.2 * all.as_secs_f64() + 1.0, "{text}");
                match measured {
                    Ok(runs) => assert!(runs.iter().any(|run| run.variant == 2), "{text}"),
                    Err(error) => assert!(error.is::<NoTime>(), "{error}"),
                }
            }
        }
    }
}

#[test]
fn what_will_run_is_said_after_the_first_run() {
    let said = |rules: &Rules| {
        let mut runner = Simulated::new(8, &[1.0; 35]);
        runner.times = vec![1.0];
        runner.compare(rules).unwrap();
        let variants = (2..35).filter(|at| {
            runner.lines.iter().all(|line| !line.starts_with(&format!("variant {at}:")))
        });
        (runner.lines[0].clone(), runner.lines[1].clone(), variants.count())
    };
    let counted = Rules { budget: Duration::MAX, most_pairs: 2, precision: -1.0, ..pairs(2) };
    assert_eq!(
        said(&counted).0,
        "35 variants x 2 pairs = about 103 s at the speed of the first run"
    );
    let short = Rules { budget: Duration::from_secs(60), ..Rules::default() };
    let (first, second, _) = said(&short);
    let text = "35 variants x 6 pairs = about 243 s at the speed of the first run; the budget is \
                60 s: --budget 5m, or some of them with --only A,B";
    assert_eq!(first, text);
    let gone = "variant 8, variant 9, variant 10, variant 11, variant 12, variant 13 and 21 more: \
                no time";
    assert_eq!(second, gone);
    let long = Rules { budget: Duration::from_secs(600), ..Rules::default() };
    let text = "35 variants x 6 pairs = about 243 s at the speed of the first run; the budget is \
                10 min: more pairs until ratios are known to within 2 %";
    assert_eq!(said(&long).0, text);
}

#[test]
fn the_slowest_leave_where_there_is_no_time_for_all() {
    let factors = [1.0, 1.0, 4.0, 5.0, 60.0];
    let held = |may_leave, budget| {
        let mut runner = Simulated::new(8, &factors);
        runner.times = vec![1.0];
        let budget = Duration::from_secs(budget);
        let rules = Rules { precision: -1.0, most_pairs: 6, budget, may_leave, ..Rules::default() };
        let runs = runner.compare(&rules).unwrap();
        let pairs = |one| Pairs::of(&runs, one, BASELINE, WALL_S).all.len();
        ([2, 3, 4].map(pairs), runner.clock as u64, runner.lines)
    };
    // 70 s to warm up and 142 for each block of all
    assert_eq!(held(true, 1 << 20).0, [6, 6, 6]);
    let (found, seconds, lines) = held(true, 270);
    assert_eq!((found, seconds), ([6, 6, 2], 70 + 142 + 2 * 22), "44 s are left for two blocks");
    assert!(lines.contains(&"variant 4: no time for more pairs".to_owned()), "{lines:?}");
    assert_eq!(held(true, 240).0, [6, 2, 2], "the fastest stays");
    assert_eq!(held(true, 100).0, [2, 2, 0], "the slowest leaves before the first block");
    assert_eq!(held(false, 270).0, [2, 2, 2]);
}

#[test]
fn a_wrong_answer_fails_the_comparison() {
    let mut runner = Simulated::new(9, &[1.0, 1.0, 1.0]);
    runner.answer = |variant, run| if variant == 2 && run > 4 { "0x02" } else { "0x01" };
    let error = runner.compare(&pairs(6)).unwrap_err().to_string();
    assert_eq!(error, "variant 2: expected tip_hash 0x01, found 0x02");

    runner.answer = |_, run| if run % 2 == 0 { "0x02" } else { "0x03" };
    let labels = runner.labels.clone();
    let none = Settings::new();
    let error = compare(&labels, WALL_S, &none, &[0, 0, 0], &pairs(6), &mut runner).unwrap_err();
    assert!(error.to_string().contains("do not agree (of blockmill, again, variant 2): tip_hash"));
}

#[test]
fn those_of_one_work_must_find_the_same() {
    let mut runner = Simulated::new(9, &[1.0, 1.0, 1.0, 9.0]);
    runner.answer = |variant, _| if variant >= 2 { "0x02" } else { "0x01" };
    let (labels, none) = (runner.labels.clone(), Settings::new());
    let mut held = |works: &[usize]| compare(&labels, WALL_S, &none, works, &pairs(6), &mut runner);
    assert!(held(&[0, 0, 2, 2]).is_ok());
    assert!(held(&[0, 0, 2, 0]).unwrap_err().to_string().contains("variant 3 do not agree"));
}

#[test]
fn a_run_that_fails_ends_the_comparison() {
    struct Broken;
    impl Runner for Broken {
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
        fn run(&mut self, variant: usize) -> Result<RunRecord> {
            bail!("variant {variant} has no disk")
        }
        fn progress(&mut self, _: &str) {}
    }
    let labels = ["a".to_owned(), "a".to_owned()];
    let error = compare(&labels, WALL_S, &Settings::new(), &[0, 0], &Rules::default(), &mut Broken);
    assert_eq!(error.unwrap_err().to_string(), "variant 0 has no disk");
}
