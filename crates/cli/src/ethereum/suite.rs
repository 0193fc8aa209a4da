//! `test`: the public tests of the execution layer, with this program as one more client.

mod files;
mod junit;
mod report;

use crate::answer::Answer;
use crate::args::Test as Arguments;
use crate::{documents, host, outputs};
use anyhow::{Context, Result, ensure};
use blockmill_archive::output::{OutputFile, Shape};
use blockmill_ethereum::execute::StepLog;
use blockmill_ethereum::suite::{self, Case, End, Runner, SuiteError, Test, Verdict};
use blockmill_pipeline::Cancel;
use blockmill_verdict::Hex;
use files::Found;
pub use files::{find, parallel};
use report::Report;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The cases of a test, or why it is none.
type Outcome = Result<Vec<Case>, SuiteError>;

/// Most files that are read before their tests are run, ...
const BATCH_FILES: usize = 1024;
/// ... and bytes after which no further file is read.
const BATCH_BYTES: u64 = 64 << 20;

/// `blockmill test`.
pub fn run(args: &Arguments, json: bool, cancel: &Cancel) -> Result<Answer> {
    let found = find(&args.paths)?;
    ensure!(!found.is_empty(), "expected a file with the ending .json, found none");
    let claim = match &args.junit {
        Some(out) => Some((out, outputs::claim(out, &args.paths, Shape::File, args.replace)?)),
        None => None,
    };
    let filter = Filter(args.filter.as_deref());
    if args.trace {
        trace(&found, filter)?;
    }
    let mut report = Report::new(json, args.filter.clone());
    let threads = args.threads.unwrap_or_else(host::cores);
    cancel.live().count("test", "files", found.len() as u64);
    let mut found = found.into_iter().peekable();
    while found.peek().is_some() && !cancel.is_cancelled() {
        run_batch(&mut found, threads, filter, cancel, &mut report);
    }
    if let Some((out, claim)) = claim {
        let mut file = OutputFile::create(out)?;
        let failed = || format!("cannot write {}", out.display());
        file.write_all(report.junit().as_bytes()).with_context(failed)?;
        file.finish(out)?;
        claim.done()?;
    }
    report.end(cancel.is_cancelled())
}

/// Which cases are run: those with this text in their name and network, as a line has them.
#[derive(Clone, Copy)]
struct Filter<'f>(Option<&'f str>);

impl Filter<'_> {
    fn wants(self, name: &str, network: &str) -> bool {
        self.0.is_none_or(|text| format!("{name} ({network})").contains(text))
    }
}

/// Runs the tests of the next files on several threads, and reports them in the order of their
/// files.
fn run_batch(
    found: &mut impl Iterator<Item = Found>,
    threads: usize,
    filter: Filter<'_>,
    cancel: &Cancel,
    report: &mut Report,
) {
    let (mut files, mut bytes) = (vec![], 0);
    while files.len() < BATCH_FILES && bytes < BATCH_BYTES {
        let Some((path, reachable)) = found.next() else { break };
        bytes += fs::metadata(&path).map_or(0, |file| file.len());
        files.push((path, Mutex::new(Some(reachable))));
    }
    let texts = parallel(threads, &files, |(path, reachable)| {
        let reachable = reachable.lock().ok().and_then(|mut reachable| reachable.take());
        reachable.unwrap_or(Ok(())).and_then(|()| documents::read_text(path))
    });
    let read = parallel(threads, &texts, |text| text.as_ref().ok().map(|text| suite::tests(text)));
    let tests: Vec<&Test<'_>> = read.iter().flatten().flatten().flatten().collect();
    let outcomes = parallel(threads, &tests, |test| match cancel.is_cancelled() {
        true => Ok(vec![]),
        false => run_test(
            test,
            &mut Runner {
                wanted: &|name, network| filter.wants(name, network),
                ..Runner::default()
            },
        ),
    });
    let mut outcomes = outcomes.into_iter();
    let names = read.into_iter().map(|tests| Some(tests?.map(names)));
    let names: Vec<_> = names.collect();
    for (((path, _), text), names) in files.iter().zip(texts).zip(names) {
        let outcome = match (text, names) {
            (Err(error), _) => Err(error),
            (Ok(_), Some(Err(error))) => Err(error.into()),
            (Ok(_), Some(Ok(names))) => of_file(names, &mut outcomes),
            (Ok(_), None) => Ok(vec![]),
        };
        report.add_file(path, outcome);
        cancel.live().advance(1);
    }
}

fn names(tests: Vec<Test<'_>>) -> Vec<String> {
    tests.into_iter().map(|test| test.name).collect()
}

/// Runs a test. A panic is a failure of its case, and ends nothing else.
fn run_test(test: &Test<'_>, runner: &mut Runner<'_>) -> Outcome {
    catch_unwind(AssertUnwindSafe(|| test.run(runner))).unwrap_or_else(|_| {
        let (expected, found) = ("a result".into(), "a panic, which is a bug".into());
        let verdict = Verdict::Failed { expected, found };
        let (name, network) = (test.name.clone(), String::new());
        Ok(vec![Case { name, network, verdict, end: End::default() }])
    })
}

/// The cases of a file with these tests; an error if none of them is a test.
fn of_file(names: Vec<String>, outcomes: &mut impl Iterator<Item = Outcome>) -> Result<Vec<Case>> {
    let (mut cases, mut is_test) = (vec![], false);
    for (name, outcome) in names.into_iter().zip(outcomes) {
        match outcome {
            Ok(of_test) => {
                is_test = true;
                cases.extend(of_test);
            }
            Err(error) => cases.push(Case {
                name,
                network: String::new(),
                verdict: Verdict::Skipped { reason: error.to_string() },
                end: End::default(),
            }),
        }
    }
    ensure!(is_test, SuiteError::Unknown.to_string());
    Ok(cases)
}

/// Writes the instructions of the only case (EIP-3155) and its state root to standard error, as
/// go-ethereum's `evm --json` does.
fn trace(found: &[Found], filter: Filter<'_>) -> Result<()> {
    let mut texts = vec![];
    for (path, _) in found {
        // what cannot be read is reported with the results
        texts.extend(documents::read_text(path));
    }
    let count = AtomicUsize::new(0);
    let counting = |name: &str, network: &str| {
        count.fetch_add(usize::from(filter.wants(name, network)), Relaxed);
        false
    };
    let tests: Vec<Test<'_>> =
        texts.iter().filter_map(|text| suite::tests(text).ok()).flatten().collect();
    for test in &tests {
        let mut runner = Runner { wanted: &counting, ..Runner::default() };
        // a test that is none is reported with the results
        let _ = test.run(&mut runner);
    }
    let count = count.into_inner();
    ensure!(count == 1, "--trace: expected one case, found {count}: choose one with --filter");
    let mut runner = Runner {
        wanted: &|name, network| filter.wants(name, network),
        step_log: StepLog::new(BufWriter::new(io::stderr())),
    };
    let cases: Vec<_> = tests.iter().flat_map(|test| test.run(&mut runner)).flatten().collect();
    runner.step_log.finish().context("cannot write the trace")?;
    for root in cases.iter().filter_map(|case| case.end.state_root) {
        eprintln!("{{\"stateRoot\": \"{}\"}}", Hex(&root));
    }
    Ok(())
}
