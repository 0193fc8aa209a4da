//! Measures: plans the comparisons that the arguments request, runs them, and writes the results.

use super::{instructions, list, report};
use crate::comparison::Rules;
use crate::definition::Definition;
use crate::experiment::{Experiment, THIS};
use crate::job::Job;
use crate::meanings;
use crate::peers::{self, Peer};
use crate::progress;
use crate::report::{comment, session_table, slower};
use crate::revisions;
use crate::scratch::Scratch;
use crate::session::{self, Plan, Session};
use crate::workloads;
use anyhow::{Context, Result, bail, ensure};
use blockmill_cli::answer::Answer;
use blockmill_cli::bench_flags::{BENCHMARKS, Bench, DISTURBED, SEED, in_percent};
use blockmill_cli::outputs;
use blockmill_cli::progress::watch;
use blockmill_pipeline::disk::replace_file;
use blockmill_platform::files;
use blockmill_report::Colour;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Measures what `args` ask for.
pub fn run(args: &Bench, json: bool) -> Result<Answer> {
    if let Some(job) = &args.job {
        let job = Job::read(job)?;
        job.run(workloads::by_name(&job.measures)?)?;
        return Ok(Answer::ok());
    }
    let all = Definition::all(&args.benchmarks.join("definitions"))?;
    if args.list || args.names.is_empty() {
        ensure!(args.list || !measures(args), "bench: expected a name; `bench --list` shows all");
        return match args.names.is_empty() {
            true => list::all(&all, json),
            false => list::named(&named(&all, &args.names)?, &known_peers(args)?, json),
        };
    }
    let repository = Path::new(".");
    let args = &with_ranges(args, repository)?;
    let (comparisons, left_out) = chosen(&all, args)?;
    outputs::results(&args.out)?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create {}", args.out.display()))?;
    if args.instructions {
        let count = || instructions::count(args, &comparisons, json);
        return watch(&progress::live(), "count instructions", false, count);
    }
    let plan = Plan {
        rules: rules(args),
        budget: args.budget.or_else(|| is_everything(args).then_some(EVERYTHING)),
        in_turn: is_everything(args),
        only: args.only.clone(),
        flags: flags(args),
        comparisons,
        left_out,
        benchmarks: args.benchmarks.clone(),
        scratch: Scratch::claim(args.scratch.as_deref())?,
        program: std::env::current_exe().context("cannot find this program")?,
        repository: repository.into(),
    };
    let measure = || session::run(&plan, &mut progress::line);
    let session = watch(&progress::live(), "prepare", false, measure)?;
    let comment = args.check.is_some().then(|| write_comment(&session, &args.out)).transpose()?;
    let failed = session.failed.join("; ");
    if session.comparisons.is_empty() {
        ensure!(failed.is_empty(), "{failed}");
        bail!("nothing was measured: {}", session.left_out.join("; "));
    }
    let path = args.out.join("bench.json");
    session.write(&path)?;
    let mut files: Vec<PathBuf> = [path].into_iter().chain(comment).collect();
    files.extend(report::write_bench(&session, &args.out)?);
    let tables = session_table(&session, Colour::of_stdout());
    let answer = Answer::results(&session, &tables, &files, json)?;
    ensure!(failed.is_empty(), "{failed}");
    let slower = if args.check.is_some() { slower(&session) } else { vec![] };
    ensure!(slower.is_empty(), "slower than before: {}", slower.join("; "));
    Ok(answer)
}

/// Are there flags of a measurement?
fn measures(args: &Bench) -> bool {
    let lists = [&args.sweep, &args.history, &args.set, &args.only];
    let is_check = args.check.is_some() || args.instructions;
    args.ladder
        || args.ablate
        || args.peers
        || args.quick
        || is_check
        || lists.iter().any(|list| !list.is_empty())
}

/// The peers of `peers.toml`; none without this file.
fn known_peers(args: &Bench) -> Result<Vec<Peer>> {
    let path = args.benchmarks.join("peers.toml");
    if files::is_file(&path)? { peers::load(&path) } else { Ok(vec![]) }
}

/// The flags that say how a comparison is measured, as they were given: with those that say what,
/// they repeat it.
fn flags(args: &Bench) -> Vec<String> {
    let mut flags = vec![];
    let mut push = |name: &str, value: Option<String>| {
        flags.extend(value.map(|value| [format!("--{name}"), value]).into_iter().flatten());
    };
    push("only", (!args.only.is_empty()).then(|| args.only.join(",")));
    push("pairs", args.pairs.map(|pairs| pairs.to_string()));
    push("budget", args.budget.map(|budget| format!("{}s", budget.as_secs_f64())));
    push("precision", args.precision.map(in_percent));
    let disturbed = in_percent(args.disturbed);
    push("disturbed", (disturbed != DISTURBED).then_some(disturbed));
    push("seed", (args.seed != SEED).then(|| args.seed.to_string()));
    let benchmarks = args.benchmarks.display().to_string();
    push("benchmarks", (benchmarks != BENCHMARKS).then_some(benchmarks));
    push("scratch", args.scratch.as_ref().map(|folder| folder.display().to_string()));
    flags.extend(args.quick.then(|| "--quick".to_owned()));
    flags
}

/// The arguments with every range of `--history` replaced by its commits.
fn with_ranges(args: &Bench, repository: &Path) -> Result<Bench> {
    let mut args = args.clone();
    if !args.history.is_empty() {
        args.history = revisions::expand(repository, &args.history)?;
    }
    Ok(args)
}

/// Writes the comment for a pull request into `folder`.
fn write_comment(session: &Session, folder: &Path) -> Result<PathBuf> {
    let path = folder.join("comment.md");
    replace_file(&path, comment(session).as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Definitions, each with an experiment.
type Chosen = Vec<(Definition, Experiment)>;

/// From this similarity on, a name may be a misspelt one.
const SIMILAR: f64 = 0.8;

/// The default budget of `all`.
const EVERYTHING: Duration = Duration::from_secs(36 * 60);

/// A comparison of `all`, whose time is for many, ends when ratios are known to within this share;
/// not where revisions are compared, which differ less.
const ROUGHLY: f64 = 0.10;

fn is_everything(args: &Bench) -> bool {
    args.names.iter().any(|name| name == "all")
}

/// The definitions that were asked for, with the experiments of each, and what cannot be measured.
/// The comparisons of `all` for the requested experiments: the first experiment of each definition
/// by rank, then the second, so that the least informative are left out when time ends.
fn chosen(all: &[Definition], args: &Bench) -> Result<(Chosen, Vec<String>)> {
    let everything = is_everything(args);
    let (mut turns, mut left_out) = (vec![], vec![]);
    let mut named: Vec<_> = named(all, &args.names)?.into_iter().cloned().collect();
    if args.quick {
        named.iter_mut().for_each(|one| *one = one.quickly());
    }
    args.set.iter().try_for_each(|assignment| set(&mut named, assignment))?;
    for definition in named {
        let is_named = args.names.contains(&definition.name);
        let Some(why) = obstacle(&definition, everything && !is_named) else {
            let experiments = experiments(&definition, args, everything).into_iter().enumerate();
            turns.extend(
                experiments.map(|(turn, experiment)| (turn, definition.clone(), experiment)),
            );
            continue;
        };
        ensure!(!is_named, "bench {why}");
        progress::line(&format!("left out: {why}"));
        left_out.push(why);
    }
    if everything {
        turns.sort_by_key(|(turn, definition, _)| (*turn, definition.rank));
    }
    Ok((
        turns.into_iter().map(|(_, definition, experiment)| (definition, experiment)).collect(),
        left_out,
    ))
}

/// Why a definition cannot be measured now, or not as one of all.
fn obstacle(definition: &Definition, of_all: bool) -> Option<String> {
    let (name, lacks) = (&definition.name, definition.lacks().join(","));
    if !lacks.is_empty() {
        return Some(format!("{name}: needs a program that was built with `--features {lacks}`"));
    }
    if of_all && definition.only_by_name {
        return Some(format!("{name}: takes long; measured only if named"));
    }
    let missing = definition.missing();
    let asked = missing.first()?;
    let what = meanings::of_setting(asked).map_or(String::new(), |what| format!(" ({what})"));
    Some(format!("{name}: expected --set {}=...{what}, found none", missing.join(", ")))
}

/// Sets what `assignment` says in each of the definitions that have such a setting.
fn set(definitions: &mut [Definition], assignment: &str) -> Result<()> {
    let results: Vec<_> = definitions.iter_mut().map(|one| one.set(assignment)).collect();
    let is_set = results.iter().any(Result::is_ok);
    results.into_iter().find(|result| result.is_ok() == is_set).unwrap_or(Ok(()))
}

/// All definitions, the one of a name, or all whose names begin with it: `reindex` selects every
/// `reindex-...`.
fn named<'a>(all: &'a [Definition], names: &[String]) -> Result<Vec<&'a Definition>> {
    let mut named = vec![];
    for name in names {
        let begins = format!("{name}-");
        let exact: Vec<_> = all.iter().filter(|one| one.name == *name).collect();
        let group = all.iter().filter(|one| name == "all" || one.name.starts_with(&begins));
        let found = if exact.is_empty() { group.collect() } else { exact };
        if found.is_empty() {
            let similarity = |of: &Definition| strsim::jaro(&of.name, name);
            let nearest = all.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
            let nearest = nearest.filter(|one| similarity(one) > SIMILAR);
            let meant = nearest.map_or(String::new(), |one| format!("did you mean {}? ", one.name));
            bail!("bench {name}: there is none; {meant}`bench --list` shows all");
        }
        named.extend(found);
    }
    Ok(named)
}

fn experiments(definition: &Definition, args: &Bench, everything: bool) -> Vec<Experiment> {
    let mut asked = vec![];
    asked.extend(args.ladder.then_some(Experiment::Ladder));
    asked.extend(args.ablate.then_some(Experiment::Ablation));
    // with a sweep, peers are compared at each of its values
    let peers = args.peers && !everything;
    let sweep = |setting: &String| Experiment::Sweep { setting: setting.clone(), peers };
    asked.extend(args.sweep.iter().map(sweep));
    asked
        .extend((args.peers && (everything || args.sweep.is_empty())).then_some(Experiment::Peers));
    if !args.history.is_empty() {
        asked.push(Experiment::Revisions(args.history.clone()));
    }
    if let Some(revision) = &args.check {
        asked.push(Experiment::Revisions(vec![revision.clone(), THIS.into()]));
    }
    let own = Experiment::all_of(definition);
    if args.instructions {
        return if definition.instructions { vec![Experiment::Alone] } else { vec![] };
    }
    match (asked.is_empty(), everything) {
        (true, false) => vec![Experiment::Alone],
        // peers are built from sources that come from elsewhere: only when they are asked for
        (true, true) => {
            own.into_iter().filter(|experiment| *experiment != Experiment::Peers).collect()
        }
        (false, false) => asked,
        (false, true) if asked == [Experiment::Peers] => own,
        (false, true) => {
            let has = |experiment: &Experiment| {
                own.contains(experiment) || matches!(experiment, Experiment::Revisions(_))
            };
            asked.into_iter().filter(has).collect()
        }
    }
}

fn rules(args: &Bench) -> Rules {
    let compares_revisions = args.check.is_some() || !args.history.is_empty();
    let roughly = (is_everything(args) && !compares_revisions || args.quick).then_some(ROUGHLY);
    let usual = Rules::default();
    let precision = args.precision.or(roughly).unwrap_or(usual.precision);
    let rules = Rules { precision, disturbed: args.disturbed, seed: args.seed, ..usual };
    match args.pairs {
        Some(pairs) => Rules {
            // no interval is as narrow as that
            precision: -1.0,
            // a block has two pairs
            most_pairs: (pairs as usize).next_multiple_of(2),
            budget: Duration::MAX,
            ..rules
        },
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
            let comparisons = chosen(&all, &args).unwrap().0;
            let name =
                |(one, experiment): &(Definition, Experiment)| format!("{} {experiment}", one.name);
            comparisons.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(order(&["all", "--peers"]), "c peers, a alone, b peers, b sweep x");
        assert_eq!(order(&["all"]), "a alone, b sweep x");
        assert_eq!(order(&["b", "c", "--sweep", "x"]), "b sweep x, c sweep x");
        assert_eq!(order(&["b", "--sweep", "x", "--peers"]), "b sweep x", "peers at each value");
    }

    #[test]
    fn all_flags_of_a_comparison_are_repeated() {
        let repeated = |words: &str| {
            let words = ["blockmill-bench", "headers"].into_iter().chain(words.split_whitespace());
            flags(&Cli::try_parse_from(words).unwrap().bench).join(" ")
        };
        assert_eq!(repeated("--ladder --set headers=5"), "", "the experiment and the settings");
        for words in [
            "--only mod1,mod2 --pairs 2",
            "--budget 90s --precision 2.5%",
            "--disturbed 7% --seed 3",
            "--benchmarks b --scratch s --quick",
        ] {
            assert_eq!(repeated(words), words);
        }
    }

    #[test]
    fn a_first_look_has_less_data_and_less_time() {
        let mut one = definition("a", "x=9\n[quick]\nx=1");
        one.budget_s = 100.0;
        let args = |words: &str| {
            let words = ["blockmill-bench", "a"].into_iter().chain(words.split_whitespace());
            Cli::try_parse_from(words).unwrap().bench
        };
        let chosen = |words: &str| chosen(&[one.clone()], &args(words)).unwrap().0.remove(0).0;
        assert_eq!((&*chosen("").settings["x"], chosen("").budget_s), ("9", 100.0));
        let quick = chosen("--quick");
        assert_eq!((&*quick.settings["x"], quick.budget_s), ("1", 30.0));
        assert!(quick.assignments.is_empty(), "--quick says it");
        assert_eq!(chosen("--quick --set x=5").settings["x"], "5");
        assert_eq!(rules(&args("--quick")).precision, ROUGHLY);
        let pairs = |words: &str| rules(&args(words)).most_pairs;
        assert_eq!((pairs("--pairs 1"), pairs("--pairs 3"), pairs("--pairs 4")), (2, 4, 4));
    }

    #[test]
    fn what_takes_long_is_measured_where_it_is_named() {
        let mut long = definition("a", "x=1");
        assert_eq!(obstacle(&long, true), None);
        long.only_by_name = true;
        let why = "a: takes long; measured only if named";
        assert_eq!(obstacle(&long, true), Some(why.to_owned()));
        assert_eq!(obstacle(&long, false), None);
        long.asks = vec!["y".into()];
        let why = "a: expected --set y=..., found none";
        assert_eq!(obstacle(&long, false), Some(why.to_owned()));
    }
}
