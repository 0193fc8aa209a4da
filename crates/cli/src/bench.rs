//! `bench`: what things cost, compared in one sitting.

mod instructions;

use crate::answer::Answer;
use crate::args::Bench;
use crate::outputs;
use ::report::Colour;
use anyhow::{Context, Result, bail, ensure};
use lab::contest::{BASELINE, Rules};
use lab::definition::Definition;
use lab::findings::Verdict;
use lab::job::Job;
use lab::kinds;
use lab::scratch::Scratch;
use lab::shape::{Shape, THIS};
use lab::sitting::{Plan, Sitting, sit};
use lab::statistics::Estimate;
use std::path::Path;
use std::time::Duration;

/// `blockmill bench`.
pub fn run(args: &Bench, json: bool) -> Result<Answer> {
    if let Some(job) = &args.job {
        let job = Job::read(job)?;
        job.run(kinds::by_name(&job.measures)?)?;
        return Ok(Answer::ok());
    }
    let all = Definition::all(&args.benchmarks.join("definitions"))?;
    if args.list {
        return list(&all, json);
    }
    let definitions = chosen(&all, args)?;
    outputs::results(&args.out, args.force)?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create {}", args.out.display()))?;
    if args.instructions {
        return instructions::count(args, &definitions, json);
    }
    let plan = Plan {
        rules: rules(args),
        budget: budget(args, &definitions),
        definitions,
        benchmarks: args.benchmarks.clone(),
        scratch: Scratch::claim(args.scratch.as_deref())?,
        program: std::env::current_exe().context("cannot find this program")?,
        repository: Path::new(".").into(),
    };
    let sitting = sit(&plan, &mut |line| eprintln!("{line}"))?;
    let path = args.out.join("bench.json");
    sitting.write(&path)?;
    let mut files = vec![path];
    files.extend(crate::report::write_bench(&sitting, &args.out)?);
    let tables = ::report::sitting_table(&sitting, Colour::of_stdout());
    let answer = Answer::results(&sitting, &tables, &files, json)?;
    if args.check.is_some() {
        gate(&sitting)?;
    }
    Ok(answer)
}

/// Fails when this program is slower than the revision that it was compared with.
fn gate(sitting: &Sitting) -> Result<()> {
    let mut slower = vec![];
    for contest in &sitting.contests {
        let figure = contest.figure();
        let this = contest.contestants.len() - 1;
        let finding = contest.finding(this, BASELINE, figure);
        if let Some(found) = finding.filter(|found| found.verdict() == Verdict::More) {
            let Estimate { ratio, low, high, .. } = found.estimate;
            let name = contest.name();
            slower.push(format!("{name}: {figure} is {ratio:.3} times ({low:.3} to {high:.3})"));
        }
    }
    ensure!(slower.is_empty(), "slower than before: {}", slower.join("; "));
    Ok(())
}

/// What can be measured.
fn list(all: &[Definition], json: bool) -> Result<Answer> {
    if json {
        let rows: Vec<_> = all.iter().map(row).collect();
        return Answer::ok().with(rows);
    }
    for definition in all {
        let shapes: Vec<String> = Shape::all_of(definition).iter().map(Shape::to_string).collect();
        println!("{:<24} {}", definition.name, definition.title);
        println!("{:<24} {}", "", definition.about);
        println!("{:<24} shapes: {}", "", shapes.join(", "));
    }
    Ok(Answer::ok())
}

fn row(definition: &Definition) -> serde_json::Value {
    let shapes: Vec<String> = Shape::all_of(definition).iter().map(Shape::to_string).collect();
    serde_json::json!({
        "name": definition.name,
        "title": definition.title,
        "about": definition.about,
        "measures": definition.measures,
        "settings": definition.settings,
        "shapes": shapes,
    })
}

/// The definitions that were asked for, with the shapes of each. Of `all`, those that have a shape
/// that was asked for.
fn chosen(all: &[Definition], args: &Bench) -> Result<Vec<(Definition, Vec<Shape>)>> {
    let everything = args.names.iter().any(|name| name == "all");
    let mut chosen = vec![];
    let names: Vec<&String> = if everything {
        all.iter().map(|one| &one.name).collect()
    } else {
        args.names.iter().collect()
    };
    for name in names {
        let Some(definition) = all.iter().find(|one| one.name == *name) else {
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            bail!("bench {name}: there is none; available: all, {}", names.join(", "));
        };
        let mut definition = definition.clone();
        args.set.iter().try_for_each(|assignment| definition.set(assignment))?;
        let missing = definition.missing().join(", ");
        if everything && !missing.is_empty() {
            eprintln!("{name} is left out: only you can say {missing} (--set)");
            continue;
        }
        ensure!(missing.is_empty(), "bench {name}: expected --set {missing}=..., found none");
        let shapes = shapes(&definition, args, everything);
        if !shapes.is_empty() {
            chosen.push((definition, shapes));
        }
    }
    Ok(chosen)
}

fn shapes(definition: &Definition, args: &Bench, everything: bool) -> Vec<Shape> {
    let mut asked = vec![];
    asked.extend(args.ladder.then_some(Shape::Ladder));
    asked.extend(args.ablate.then_some(Shape::Ablation));
    asked.extend(args.sweep.iter().cloned().map(Shape::Sweep));
    asked.extend(args.peers.then_some(Shape::Peers));
    if !args.revisions.is_empty() {
        asked.push(Shape::Revisions(args.revisions.clone()));
    }
    if let Some(revision) = &args.check {
        asked.push(Shape::Revisions(vec![revision.clone(), THIS.into()]));
    }
    let own = Shape::all_of(definition);
    if args.instructions {
        return if definition.instructions { vec![Shape::Alone] } else { vec![] };
    }
    match (asked.is_empty(), everything) {
        (true, false) => vec![Shape::Alone],
        // peers are built from sources that come from elsewhere: only when they are asked for
        (true, true) => own.into_iter().filter(|shape| *shape != Shape::Peers).collect(),
        (false, false) => asked,
        (false, true) if asked == [Shape::Peers] => own,
        (false, true) => {
            let has = |shape: &Shape| own.contains(shape) || matches!(shape, Shape::Revisions(_));
            asked.into_iter().filter(has).collect()
        }
    }
}

fn rules(args: &Bench) -> Rules {
    let (precision, disturbed, seed) = (args.precision, args.disturbed, args.seed);
    let rules = Rules { precision, disturbed, seed, ..Rules::default() };
    match args.pairs {
        // no interval is as narrow as that
        Some(pairs) => {
            Rules { precision: -1.0, most_pairs: pairs as usize, budget: Duration::MAX, ..rules }
        }
        None => rules,
    }
}

/// How much of its own budget each definition gets.
fn budget(args: &Bench, definitions: &[(Definition, Vec<Shape>)]) -> f64 {
    let own: f64 = definitions.iter().map(|(one, shapes)| one.budget_s * shapes.len() as f64).sum();
    args.budget.map_or(1.0, |budget| budget.as_secs_f64() / own.max(1.0))
}
