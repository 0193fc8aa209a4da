//! Death of the process at random moments of both passes over Bitcoin block files: the next run
//! goes on, and the end is that of an undisturbed run.

use crate::program::{Random, Scratch, blockmill, succeed, wait};
use blockmill_bitcoin::chainstate::Chainstate;
use blockmill_bitcoin::coins::{Statistics, statistics};
use blockmill_bitcoin::import::{Options, Tip};
use blockmill_bitcoin::params::Params;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Kills that must fall into a run that is not over.
const KILLS: u32 = 50;
/// Of which before the index is written.
const KILLS_OF_PASS_1: u32 = 5;
/// A part of the time of pass 1, after the store's folder was created.
const PASS_1: Duration = Duration::from_millis(1);
/// Runs that may be over, or not begun, when the signal comes, before the test gives up.
const MAX_MISSES: u32 = 500;
/// MiB of memory for coins: so little that they are written often.
const CACHE: u64 = 1;

/// Block files in any order, with enough coins that they are written many times.
fn generate(folder: &Path) {
    let recipe = "--inputs 6400 --block-inputs 40 --order shuffled --xor --file-size 1000000";
    succeed(blockmill("generate bitcoin").args(recipe.split(' ')).arg("--out").arg(folder));
}

fn import(store: &Path, files: &Path) -> Command {
    let mut command = blockmill("import --data");
    command.arg(store).arg(files).args(["--cache", &CACHE.to_string()]);
    command
}

/// What a store holds.
#[derive(Debug, PartialEq)]
struct Stored {
    tip: Tip,
    statistics: Statistics,
    undo: Vec<u64>,
}

impl Stored {
    /// Reads a store that no process has open.
    fn of(store: &Path) -> Self {
        let chainstate = Chainstate::open(store, &options()).expect("a store");
        let (tip, undo) = (chainstate.tip(), chainstate.undo_ends().expect("undo data"));
        let statistics = statistics(&chainstate.coins()).expect("good coins");
        Self { tip, statistics, undo }
    }
}

fn options() -> Options {
    Options { memory: 8 << 20, ..Options::new(Params::regtest()) }
}

/// The height of a store's last block; 0 where there is none yet.
fn height_of(store: &Path) -> u32 {
    if !store.join("coins").exists() {
        return 0;
    }
    Chainstate::open(store, &options()).expect("a store that opens").tip().height
}

#[derive(Debug, Default)]
struct Kills {
    pass_1: u32,
    pass_2: u32,
    /// Runs that had committed something new when they were killed.
    advanced: u32,
    missed: u32,
    completed: u32,
}

impl Kills {
    fn are_enough(&self) -> bool {
        self.pass_1 >= KILLS_OF_PASS_1 && self.pass_1 + self.pass_2 >= KILLS
    }

    /// Kills imports into `store` until one is through.
    fn interrupt(&mut self, store: &Path, files: &Path, time: Duration, random: &mut Random) {
        let mut height = 0;
        // a first run is killed in pass 1 until that was hit often enough
        let mut early = self.pass_1 < KILLS_OF_PASS_1;
        while !self.are_enough() {
            let mut command = import(store, files);
            command.args(["--threads", random.pick(&["1", "2", "5"])]);
            let limit = if early { PASS_1 } else { time };
            let moment = Duration::from_micros(random.below(limit.as_micros() as u64));
            let mut start = Instant::now();
            let mut child = command.spawn().expect("the program starts");
            if early {
                // the folder is there when pass 1 begins
                while !store.exists() && start.elapsed() < time {
                    thread::sleep(Duration::from_micros(50));
                }
                start = Instant::now();
            }
            thread::sleep(moment.saturating_sub(start.elapsed()));
            child.kill().expect("a child that can be killed, dead or alive");
            let ended = wait(child, "import");
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
            assert!(matches!(ended.code, None | Some(0)), "{:?} {}", ended.code, ended.stderr);
            let now = height_of(store);
            assert!(now >= height, "committed up to {height}, after a kill {now}");
            self.advanced += u32::from(now > height && ended.code.is_none());
            height = now;
            match ended.code {
                Some(_) => {
                    self.missed += 1;
                    break;
                }
                // nothing is there yet: the program had hardly begun
                None if !store.exists() => self.missed += 1,
                None if !store.join("index").exists() => self.pass_1 += 1,
                None => self.pass_2 += 1,
            }
            early = false;
            assert!(self.missed < MAX_MISSES, "{self:?}");
        }
        succeed(&mut import(store, files));
        self.completed += 1;
    }
}

#[test]
fn imports_of_block_files_that_are_killed_end_with_the_same_coins() {
    let scratch = Scratch::new("kill-reindex");
    let (files, undisturbed) = (scratch.path("files"), scratch.path("undisturbed"));
    generate(&files);
    let start = Instant::now();
    let output = succeed(&mut import(&undisturbed, &files));
    let time = start.elapsed();
    println!("undisturbed: {time:?}\n{output}");
    let expected = Stored::of(&undisturbed);
    let mut random = Random::new_each_run("kill_during_reindex");
    let mut kills = Kills::default();
    for round in 0.. {
        if kills.are_enough() {
            break;
        }
        let store = scratch.path(&format!("killed-{round}"));
        kills.interrupt(&store, &files, time, &mut random);
        assert_eq!(Stored::of(&store), expected);
        std::fs::remove_dir_all(&store).expect("a store to remove");
    }
    println!("{kills:?}");
    assert!(kills.advanced >= 5, "{kills:?}");
}
