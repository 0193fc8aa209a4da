//! What things cost, compared in one sitting.

use super::args::Bench;
use super::{instructions, report, tell};
use crate::contest::{BASELINE, Rules};
use crate::definition::Definition;
use crate::findings::Verdict;
use crate::job::Job;
use crate::kinds;
use crate::report::sitting_table;
use crate::scratch::Scratch;
use crate::shape::{Shape, THIS};
use crate::sitting::{Plan, Sitting, sit};
use crate::statistics::Estimate;
use anyhow::{Context, Result, bail, ensure};
use blockmill_cli::answer::Answer;
use blockmill_cli::{outputs, print};
use blockmill_report::Colour;
use std::path::Path;
use std::time::Duration;

/// Measures what `args` ask for.
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
    let (contests, left_out) = chosen(&all, args)?;
    outputs::results(&args.out)?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create {}", args.out.display()))?;
    if args.instructions {
        return instructions::count(args, &contests, json);
    }
    let plan = Plan {
        rules: rules(args),
        budget: args.budget.or_else(|| is_everything(args).then_some(EVERYTHING)),
        in_turn: is_everything(args),
        contests,
        left_out,
        benchmarks: args.benchmarks.clone(),
        scratch: Scratch::claim(args.scratch.as_deref())?,
        program: std::env::current_exe().context("cannot find this program")?,
        repository: Path::new(".").into(),
    };
    let sitting = sit(&plan, &mut tell)?;
    let failed = sitting.failed.join("; ");
    if sitting.contests.is_empty() {
        ensure!(failed.is_empty(), "{failed}");
        bail!("nothing was measured: {}", sitting.left_out.join("; "));
    }
    let path = args.out.join("bench.json");
    sitting.write(&path)?;
    let mut files = vec![path];
    files.extend(report::write_bench(&sitting, &args.out)?);
    let tables = sitting_table(&sitting, Colour::of_stdout());
    let answer = Answer::results(&sitting, &tables, &files, json)?;
    ensure!(failed.is_empty(), "{failed}");
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
        let Definition { name, title, about, .. } = definition;
        let shapes = shapes.join(", ");
        let indent = " ".repeat(25);
        print::out(format_args!("{name:<24} {title}\n{indent}{about}\n{indent}shapes: {shapes}\n"));
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

/// Definitions, each with a shape.
type Chosen = Vec<(Definition, Shape)>;

/// What `all` may take unless something else is said.
const EVERYTHING: Duration = Duration::from_secs(36 * 60);

/// A contest of `all`, whose time is for many, ends when ratios are known to within this share; not
/// where revisions are compared, which differ less.
const ROUGHLY: f64 = 0.10;

fn is_everything(args: &Bench) -> bool {
    args.names.iter().any(|name| name == "all")
}

/// The definitions that were asked for, with the shapes of each, and what cannot be measured. Of
/// `all`, those that have a shape that was asked for: the first shape of each by their ranks, then
/// the second, so that what is left out when time ends is what tells the least.
fn chosen(all: &[Definition], args: &Bench) -> Result<(Chosen, Vec<String>)> {
    let everything = is_everything(args);
    let (mut turns, mut left_out) = (vec![], vec![]);
    let mut named: Vec<_> = named(all, &args.names)?.into_iter().cloned().collect();
    args.set.iter().try_for_each(|assignment| set(&mut named, assignment))?;
    for definition in named {
        let is_named = args.names.contains(&definition.name);
        let Some(why) = obstacle(&definition, everything && !is_named) else {
            let shapes = shapes(&definition, args, everything).into_iter().enumerate();
            turns.extend(shapes.map(|(turn, shape)| (turn, definition.clone(), shape)));
            continue;
        };
        ensure!(!is_named, "bench {why}");
        tell(&format!("left out: {why}"));
        left_out.push(why);
    }
    if everything {
        turns.sort_by_key(|(turn, definition, _)| (*turn, definition.rank));
    }
    Ok((turns.into_iter().map(|(_, definition, shape)| (definition, shape)).collect(), left_out))
}

/// Why a definition cannot be measured now, or not as one of all.
fn obstacle(definition: &Definition, of_all: bool) -> Option<String> {
    let (name, lacks) = (&definition.name, definition.lacks().join(","));
    if !lacks.is_empty() {
        return Some(format!("{name}: needs a program that was built with `--features {lacks}`"));
    }
    if of_all && definition.only_by_name {
        return Some(format!("{name}: takes long; it is measured where it is named"));
    }
    let missing = definition.missing().join(", ");
    (!missing.is_empty()).then(|| format!("{name}: expected --set {missing}=..., found none"))
}

/// Sets what `assignment` says in each of the definitions that have such a setting.
fn set(definitions: &mut [Definition], assignment: &str) -> Result<()> {
    let results: Vec<_> = definitions.iter_mut().map(|one| one.set(assignment)).collect();
    let is_set = results.iter().any(Result::is_ok);
    results.into_iter().find(|result| result.is_ok() == is_set).unwrap_or(Ok(()))
}

/// All, those of a name, or those whose names begin with it: `reindex` is all of `reindex-...`.
fn named<'a>(all: &'a [Definition], names: &[String]) -> Result<Vec<&'a Definition>> {
    let mut named = vec![];
    for name in names {
        let begins = format!("{name}-");
        let exact: Vec<_> = all.iter().filter(|one| one.name == *name).collect();
        let group = all.iter().filter(|one| name == "all" || one.name.starts_with(&begins));
        let found = if exact.is_empty() { group.collect() } else { exact };
        if found.is_empty() {
            let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
            bail!("bench {name}: there is none; available: all, {}", names.join(", "));
        }
        named.extend(found);
    }
    Ok(named)
}

fn shapes(definition: &Definition, args: &Bench, everything: bool) -> Vec<Shape> {
    let mut asked = vec![];
    asked.extend(args.ladder.then_some(Shape::Ladder));
    asked.extend(args.ablate.then_some(Shape::Ablation));
    // peers that are asked for beside a sweep stand beside each of its values
    let peers = args.peers && !everything;
    let sweep = |setting: &String| Shape::Sweep { setting: setting.clone(), peers };
    asked.extend(args.sweep.iter().map(sweep));
    asked.extend((args.peers && (everything || args.sweep.is_empty())).then_some(Shape::Peers));
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
    let compares_revisions = args.check.is_some() || !args.revisions.is_empty();
    let roughly = (is_everything(args) && !compares_revisions).then_some(ROUGHLY);
    let usual = Rules::default();
    let precision = args.precision.or(roughly).unwrap_or(usual.precision);
    let rules = Rules { precision, disturbed: args.disturbed, seed: args.seed, ..usual };
    match args.pairs {
        // no interval is as narrow as that
        Some(pairs) => {
            Rules { precision: -1.0, most_pairs: pairs as usize, budget: Duration::MAX, ..rules }
        }
        None => rules,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Cli;
    use clap::Parser;

    fn definition(name: &str, settings: &str) -> Definition {
        let text = format!(
            "title='t'\nabout='a'\nmeasures='rlp'\ncompare=['time_ns']\nbudget_s=1\n\
             [settings]\n{settings}"
        );
        Definition::parse(name, &text).unwrap()
    }

    #[test]
    fn a_setting_holds_for_the_definitions_that_have_it() {
        let mut all = [definition("a", "x=1\ny=1"), definition("b", "y=1")];
        set(&mut all, "y=2").unwrap();
        set(&mut all, "x=3").unwrap();
        assert_eq!(all.each_ref().map(|one| one.settings["y"].as_str()), ["2", "2"]);
        assert_eq!(all[0].settings["x"], "3");

        let error = set(&mut all, "z=1").unwrap_err().to_string();
        assert_eq!(error, "a: no setting 'z'; available: x, y");
        assert!(set(&mut all, "z").unwrap_err().to_string().contains("expected name=value"));
    }

    #[test]
    fn what_tells_the_most_comes_first_of_all() {
        let mut all = [definition("a", "x=1"), definition("b", "x=1"), definition("c", "x=1")];
        for one in &mut all[1..] {
            one.peers = vec!["p".into()];
        }
        all[1].sweep.insert("x".into(), vec![]);
        all[2].rank = 1;
        let order = |words: &[&str]| {
            let words = [&["blockmill-bench"], words].concat();
            let args = Cli::try_parse_from(words).unwrap().bench;
            let contests = chosen(&all, &args).unwrap().0;
            let name = |(one, shape): &(Definition, Shape)| format!("{} {shape}", one.name);
            contests.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(order(&["all", "--peers"]), "c peers, a alone, b peers, b sweep x");
        assert_eq!(order(&["all"]), "a alone, b sweep x");
        assert_eq!(order(&["b", "c", "--sweep", "x"]), "b sweep x, c sweep x");
        assert_eq!(order(&["b", "--sweep", "x", "--peers"]), "b sweep x", "each value beside them");
    }

    #[test]
    fn what_takes_long_is_measured_where_it_is_named() {
        let mut long = definition("a", "x=1");
        assert_eq!(obstacle(&long, true), None);
        long.only_by_name = true;
        let why = "a: takes long; it is measured where it is named";
        assert_eq!(obstacle(&long, true), Some(why.to_owned()));
        assert_eq!(obstacle(&long, false), None);
        long.asks = vec!["y".into()];
        let why = "a: expected --set y=..., found none";
        assert_eq!(obstacle(&long, false), Some(why.to_owned()));
    }
}
