//! `bench`: what things cost, compared in one sitting.

use crate::answer::Answer;
use crate::args::Bench;
use crate::outputs;
use anyhow::{Context, Result, bail};
use lab::contest::Rules;
use lab::definition::Definition;
use lab::job::Job;
use lab::kinds;
use lab::scratch::Scratch;
use lab::shape::Shape;
use lab::sitting::{Plan, sit};
use report::Colour;
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
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create {}", args.out.display()))?;
    sitting.write(&path)?;
    let mut files = vec![path];
    files.extend(report::write_sitting(&sitting, &args.out)?);
    Answer::results(&sitting, &report::sitting_tables(&sitting, Colour::of_stdout()), &files, json)
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
    let names: Vec<&String> =
        if everything { all.iter().map(|one| &one.name).collect() } else { args.names.iter().collect() };
    for name in names {
        let Some(definition) = all.iter().find(|one| one.name == *name) else {
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            bail!("bench {name}: there is none; available: all, {}", names.join(", "));
        };
        let mut definition = definition.clone();
        args.set.iter().try_for_each(|assignment| definition.set(assignment))?;
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
    let own = Shape::all_of(definition);
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
        Some(pairs) => Rules {
            precision: -1.0,
            most_pairs: pairs as usize,
            budget: Duration::MAX,
            ..rules
        },
        None => rules,
    }
}

/// How much of its own budget each definition gets.
fn budget(args: &Bench, definitions: &[(Definition, Vec<Shape>)]) -> f64 {
    let own: f64 = definitions.iter().map(|(one, shapes)| one.budget_s * shapes.len() as f64).sum();
    args.budget.map_or(1.0, |budget| budget.as_secs_f64() / own.max(1.0))
}
