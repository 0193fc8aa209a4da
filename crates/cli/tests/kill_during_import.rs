//! Death of the process at random moments of an import: nothing that was committed is lost, and
//! going on ends with the same store as an undisturbed run.

use crate::program::{
    Random, SEAL_OFF, Scratch, Snapshot, assert_same_store, blockmill, fixtures, succeed, tip_of,
    unexecuted, wait,
};
use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::Level;
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::Options;
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::SealPolicy;
use blockmill_ethereum::settings::Settings;
use blockmill_pipeline::Cancel;
use blockmill_store::ChainStore;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Kills that must fall between the first and the last commit: of header imports, and of imports
/// of blocks in each of two formats.
const HEADER_KILLS: u32 = 50;
const BLOCK_KILLS: u32 = 25;

/// Runs that may be over, or not begun, when the signal comes, before the test gives up.
const MAX_MISSES: u32 = 1_000;

/// A run is killed within the time of an undisturbed one, divided by this, so that a chain is
/// interrupted many times.
const PART: u32 = 4;

fn import(store: &Path, archive: &Path) -> Command {
    let mut command = blockmill("import --data");
    command.arg(store).arg(archive).args(SEAL_OFF);
    command
}

/// What killing imports of one archive again and again has shown.
#[derive(Default)]
struct Kills {
    /// A process that had committed something new was killed before it had committed all.
    in_the_middle: u32,
    /// The signal came too early or too late.
    missed: u32,
    /// Another process had seen new commits before the signal came.
    seen_before: u32,
    /// Imports that were completed in between.
    completed: u32,
}

/// One archive, the store that an undisturbed import makes of it, and how long that takes.
struct Undisturbed<'a> {
    archive: &'a Path,
    store: Snapshot,
    last: u64,
    time: Duration,
    /// Kills that must hit.
    wanted: u32,
    /// More flags.
    with: &'a [String],
}

impl Undisturbed<'_> {
    fn import(&self, store: &Path) -> Command {
        let mut command = import(store, self.archive);
        command.args(self.with);
        command
    }

    /// Kills imports into `store` until one is through; then compares the result.
    fn interrupt(&self, store: &Path, random: &mut Random, kills: &mut Kills) {
        let mut committed = None;
        let mut limit = self.time / PART;
        while committed != Some(self.last) && kills.in_the_middle < self.wanted {
            let until = (random.below(4) == 0).then(|| random.below(self.last + 1));
            let seen = self.run_and_kill(store, random, limit, until);
            let now = tip_of(store);
            assert!(now >= committed, "committed up to {committed:?}, after a kill {now:?}");
            assert!(now >= seen, "another process saw {seen:?}, after a kill {now:?}");
            if now > committed && now < Some(self.last) {
                limit = self.time / PART;
                kills.in_the_middle += 1;
                kills.seen_before += u32::from(seen > committed);
            } else {
                // opening a long chain again takes its time before anything new is committed
                limit = limit * 3 / 2;
                kills.missed += 1;
                assert!(kills.missed < MAX_MISSES, "{} kills hit", kills.in_the_middle);
            }
            committed = now;
        }
        succeed(&mut self.import(store));
        self.store.assert_same(store);
        kills.completed += 1;
    }

    /// Starts an import, kills it at a random moment before `limit`, and gives the tip that this
    /// process saw shortly before. With `until` the run may come to its end by itself.
    fn run_and_kill(
        &self,
        store: &Path,
        random: &mut Random,
        limit: Duration,
        until: Option<u64>,
    ) -> Option<u64> {
        let mut command = self.import(store);
        // neither chunks nor threads nor the way of writing may show in the store
        command.args(["--chunk", random.pick(&["16", "64", "500", "2048"])]);
        command.args(["--threads", random.pick(&["1", "2", "5"])]);
        command.args(["--with", random.pick(&["stages=overlapped", "stages=serial"])]);
        if let Some(until) = until {
            command.args(["--until", &until.to_string()]);
        }
        let moment = Duration::from_micros(random.below(limit.as_micros() as u64));
        let start = Instant::now();
        let mut child = command.spawn().expect("the program starts");
        thread::sleep(moment / 2);
        let seen = tip_of(store);
        thread::sleep(moment.saturating_sub(start.elapsed()));
        child.kill().expect("a child that can be killed, dead or alive");
        let ended = wait(child, "import");
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        // the signal ended it, or it was through before
        assert!(matches!(ended.code, None | Some(0)), "{:?} {}", ended.code, ended.stderr);
        seen
    }
}

/// Generates `blocks` in `format`, then kills imports of them until enough kills have hit.
fn kill_imports_of(format: &str, blocks: u64, wanted: u32) {
    let scratch = Scratch::new(&format!("kill-{format}"));
    let archive = scratch.path("archive");
    let count = blocks.to_string();
    let mut generate = blockmill("generate ethereum --headers");
    succeed(generate.args([&count, "--format", format, "--out"]).arg(&archive));
    let flags = unexecuted(&archive).map(str::to_owned);
    kill_imports(&archive, &flags, blocks, wanted, &scratch);
}

/// Kills imports of an archive of so many blocks, with these flags, until enough kills have hit.
fn kill_imports(archive: &Path, with: &[String], last: u64, wanted: u32, scratch: &Scratch) {
    let undisturbed = scratch.path("undisturbed");
    let start = Instant::now();
    succeed(import(&undisturbed, archive).args(with));
    let time = start.elapsed();
    assert_eq!(tip_of(&undisturbed), Some(last));

    let store = Snapshot::of(&undisturbed);
    let whole = Undisturbed { archive, store, last, time, wanted, with };
    let mut random = Random::new_each_run("kill_during_import");
    let mut kills = Kills::default();
    for round in 0.. {
        if kills.in_the_middle >= wanted {
            break;
        }
        let store = scratch.path(&format!("killed-{round}"));
        whole.interrupt(&store, &mut random, &mut kills);
        std::fs::remove_dir_all(&store).expect("a store to remove");
    }
    let Kills { in_the_middle, missed, seen_before, completed } = kills;
    println!("{}: undisturbed {time:?}; {in_the_middle} kills in the middle,", archive.display());
    println!("  {seen_before} of them after another process had seen new commits;");
    println!("  {missed} kills missed; {completed} imports completed and compared");
    assert!(seen_before > 0, "no commit was ever seen before the kill");
}

#[test]
fn header_imports_that_are_killed_end_with_the_same_store() {
    // a run of the hash index, and the beginning of the next
    kill_imports_of("headers", 80_000, HEADER_KILLS);
}

#[test]
fn body_imports_from_an_export_that_are_killed_end_with_the_same_store() {
    kill_imports_of("rlp", 10_000, BLOCK_KILLS);
}

#[test]
fn body_imports_from_era1_files_that_are_killed_end_with_the_same_store() {
    kill_imports_of("era1", 10_000, BLOCK_KILLS);
}

/// Blocks, state and log: the log is that of an undisturbed run, byte for byte, and the state has
/// the root of every block at which a run went on.
#[blockmill_testkit::needs(fixtures)]
#[test]
fn executions_that_are_killed_end_with_the_same_store_and_log() {
    let scratch = Scratch::new("kill-execution");
    let folder = fixtures().join("chains/hive-sync");
    let mut with = vec!["--level".to_owned(), "execution".into(), "--chain".into()];
    with.push(folder.join("genesis.json").to_str().expect("a path that is text").to_owned());
    kill_imports(&folder.join("chain.rlp"), &with, 3_000, HEADER_KILLS, &scratch);
}

/// What the progress line says stands in the store at that moment: a kill would not lose it.
#[test]
fn what_progress_calls_committed_is_what_another_process_finds() {
    let scratch = Scratch::new("progress");
    let (path, store) = (scratch.path("archive"), scratch.path("store"));
    succeed(blockmill("generate ethereum --headers 5000 --out").arg(&path));
    let archive = Archive::open(&[path]).expect("an archive");
    let options = Options {
        spec: Arc::new(ChainSpec::by_name("mainnet").expect("a network")),
        level: Level::Headers,
        seal: SealPolicy { mode: "off".parse().expect("a mode"), seed: 0 },
        settings: Settings::default(),
        threads: 2,
        chunk: ChunkLimit { blocks: 500, ..ChunkLimit::default() },
        from: None,
        until: None,
        partial: false,
        recheck: true,
        trust: vec![],
        caches: Caches::new(None, 1),
        now: None,
        consumer: None,
        cancel: Cancel::new(),
    };
    let (segments, _) =
        ChainStore::open(&store, &blockmill_store::Options::default()).expect("a store");
    let mut sink = Sink::Segments(Box::new(segments));
    let mut seen = vec![];
    let (_, outcome) =
        blockmill_ethereum::import::import(&archive, &options, &mut sink, |progress| {
            assert_eq!(progress.committed, tip_of(&store));
            seen.push((progress.number, progress.committed));
        });
    outcome.expect("a good archive");
    assert_eq!(seen.len(), 11);
    assert!(seen.iter().all(|(verified, committed)| Some(*verified) == *committed), "{seen:?}");
    drop(sink);

    // nothing is committed where nothing is kept
    let (_, outcome) =
        blockmill_ethereum::import::import(&archive, &options, &mut Sink::Discard, |progress| {
            assert_eq!(progress.committed, None);
        });
    outcome.expect("a good archive");
}

/// Ctrl-C: the chunk at hand is committed, the exit code says so, and the next run goes on.
#[cfg(unix)]
#[test]
fn an_import_that_is_asked_to_stop_goes_on_later() {
    let scratch = Scratch::new("ask-to-stop");
    let (archive, whole) = (scratch.path("archive"), scratch.path("whole"));
    let store = scratch.path("stopped");
    succeed(blockmill("generate ethereum --headers 100000 --out").arg(&archive));
    succeed(&mut import(&whole, &archive));
    let mut stopped = 0;
    for attempt in 1..=50 {
        let mut command = import(&store, &archive);
        let mut child = command.args(["--chunk", "16"]).spawn().expect("the program starts");
        while tip_of(&store).is_none() && child.try_wait().expect("a child").is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let signal = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        let ended = wait(child, "import");
        if signal.is_ok_and(|status| status.success()) && ended.code == Some(130) {
            stopped += 1;
            assert!(ended.stderr.contains("stopping"), "{}", ended.stderr);
            let tip = tip_of(&store).expect("a tip");
            assert!(tip < 100_000);
            let stored = format!("stored       up to block {}", grouped(tip));
            assert!(ended.stdout.contains(&stored), "no {stored:?} in {}", ended.stdout);
            break;
        }
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        println!("attempt {attempt} was over before the signal came");
        std::fs::remove_dir_all(&store).expect("a store to remove");
    }
    assert_eq!(stopped, 1, "no attempt was stopped");
    succeed(&mut import(&store, &archive));
    assert_same_store(&whole, &store);
}

/// A number with commas between its thousands, as the program prints it.
#[cfg(unix)]
fn grouped(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}
