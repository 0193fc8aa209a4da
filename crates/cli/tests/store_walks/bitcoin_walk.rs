//! Walks over stores of Bitcoin blocks: import, resume, stop, kill, a longer branch, conversion to
//! a datadir, corruption and repair.

use crate::bitcoin_model::{At, Chain, coins_of, files, import};
use crate::command::{Command, Ended};
use crate::deeds::{self, Deed};
use crate::dying_disk::DyingDisk;
use crate::program::Random;
use crate::walks::Seen;
use blockmill_bitcoin::import::{Options, import as engine};
use blockmill_bitcoin::params::Params;
use blockmill_verdict::Status;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What is repaired by importing into a new folder.
const COINS: &str = "import the block files again, which connects all blocks";
/// What is repaired by the next import.
const INDEX: &str = "the next import scans the block files again";

pub struct BitcoinWalk<'a> {
    chain: &'a Chain,
    random: &'a mut Random,
    folder: &'a Path,
    data: PathBuf,
    /// Branches of which block files are imported.
    branches: usize,
    /// The last block of the store; none before the first commit.
    model: Option<At>,
    taken: Vec<String>,
    pub seen: Seen,
}

impl<'a> BitcoinWalk<'a> {
    pub fn new(chain: &'a Chain, folder: &'a Path, random: &'a mut Random) -> Self {
        let (data, seen) = (folder.join("store"), Seen::new());
        Self { chain, random, folder, data, branches: 1, model: None, taken: vec![], seen }
    }

    fn note(&mut self, step: &'static str, more: String) {
        *self.seen.entry(step).or_default() += 1;
        self.taken.push(format!("{step} {more}"));
    }

    fn ended(&mut self, how: String) {
        self.taken.push(format!("    {how}"));
    }

    /// One step, and the comparison.
    pub fn step(&mut self) {
        match (self.model, self.random.below(14_u32)) {
            (_, 0..=2) => self.import(),
            (_, 3 | 4) => self.stop(),
            (_, 5..=7) => self.kill(),
            (_, 8) if self.branches == 1 => self.add_branch(),
            (Some(_), 9) => self.convert(),
            (Some(model), 10..) => self.corrupt(model),
            _ => self.import(),
        }
        self.compare();
    }

    /// The branch that the best chain is on.
    fn best(&self) -> usize {
        self.branches - 1
    }

    fn any_height(&mut self) -> u64 {
        1 + self.random.below(self.chain.last[self.best()])
    }

    fn command(&self, until: u64) -> Command {
        let folders = &self.chain.branches[..self.branches];
        folders.iter().fold(import(&self.data, until), |command, folder| command.path(folder))
    }

    /// The last block after an import up to a height that ended well.
    fn reached(&self, until: u64) -> At {
        match self.model {
            Some(At { branch, height }) if branch == self.best() || height == 0 => {
                At { branch: self.best(), height: height.max(until) }
            }
            _ => At { branch: self.best(), height: until },
        }
    }

    fn import(&mut self) {
        let until = self.any_height();
        self.note("import", format!("--until {until}"));
        self.command(until).run().succeed();
        self.model = Some(self.reached(until));
    }

    /// Files with a longer branch come.
    fn add_branch(&mut self) {
        self.branches = 2;
        let until = self.any_height();
        self.note("reorganise", format!("--until {until}"));
        self.command(until).run().succeed();
        self.model = Some(self.reached(until));
    }

    /// An import that is asked to stop.
    fn stop(&mut self) {
        let (until, after) = (self.any_height(), 1 + self.random.below(40_u64));
        self.branches = if self.random.below(6_u32) == 0 { 2 } else { self.branches };
        self.note("stop", format!("--until {until}, {after}, branches: {}", self.branches));
        let ended = self.command(until).stop_after(after);
        assert!(ended.is_success_or_stop(), "{}", ended.reported());
        self.adopt_partial(until, ended.status.is_success());
    }

    /// An import of which the process dies after some changes of the disk.
    fn kill(&mut self) {
        let (until, changes) = (self.any_height(), self.random.below(60_u32));
        self.branches = if self.random.below(6_u32) == 0 { 2 } else { self.branches };
        self.note("kill", format!("--until {until}, {changes}, branches: {}", self.branches));
        let disk = DyingDisk::after(changes);
        let options = Options {
            disk: Arc::new(disk.clone()),
            memory: 16 << 20,
            until: u32::try_from(until).ok(),
            commit_every: Duration::ZERO,
            ..Options::new(Params::regtest())
        };
        let folders: Vec<&PathBuf> = self.chain.branches[..self.branches].iter().collect();
        let (_, outcome) = engine(&files(&folders), &options, &self.data, |_| {});
        match &outcome {
            Ok(()) => {}
            Err(error) => assert!(disk.is_dead(), "{error}"),
        }
        self.adopt_partial(until, outcome.is_ok());
    }

    /// After an import that may have ended in the middle: a block on the way.
    fn adopt_partial(&mut self, until: u64, whole: bool) {
        let found = match self.has_coins() {
            true => coins_of(&self.data).map(|(tip, _)| self.chain.place(tip)),
            false => None,
        };
        self.ended(format!("{found:?}, whole: {whole}"));
        let Some(found) = found else {
            assert!(self.model.is_none() && !whole, "nothing is left");
            return;
        };
        let reached = self.reached(until);
        if whole {
            assert_eq!(found.height, reached.height);
        }
        let before = self.model.unwrap_or(At { height: 0, ..reached });
        let is_ahead = found.height == 0 || found.branch == reached.branch;
        let continues = before.branch == reached.branch || before.height == 0;
        let fits = match (is_ahead, continues) {
            (true, true) => (before.height..=reached.height).contains(&found.height),
            (true, false) => found.height <= reached.height,
            // on its way back
            (false, _) => found.branch == before.branch && found.height <= before.height,
        };
        assert!(fits, "{found:?}");
        self.model = Some(found);
    }

    fn has_coins(&self) -> bool {
        blockmill_bitcoin::inspect::is_store(&self.data).expect("a folder")
    }

    /// A datadir of Bitcoin Core has the coins of the store.
    fn convert(&mut self) {
        let until = self.any_height();
        self.note("convert", format!("--until {until}"));
        let out = self.folder.join("datadir");
        let words = format!("convert --to core --force --until {until} --data");
        let command = Command::new(&words).path(&self.data).words("--out").path(&out);
        let folders = &self.chain.branches[..self.branches];
        let command = folders.iter().fold(command, |command, folder| command.path(folder));
        let written = command.run().succeed();
        let reached = self.reached(until);
        assert_eq!(written["height"], reached.height, "{written:#}");
        assert_eq!(written["coins"], self.chain.coins(reached).coins, "{written:#}");
        self.model = Some(reached);
    }

    /// Corrupts a file of the store, and does what `check` advises until it finds nothing.
    fn corrupt(&mut self, before: At) {
        let mut whole = deeds::files(&self.data);
        whole.retain(|name, _| !name.starts_with("records") && !name.ends_with("lock"));
        let deed = Deed::random(self.random, &whole, &self.data, &mut BTreeSet::new());
        self.note("corruption", format!("{deed:?}"));
        let found = Command::new("check").path(&self.data).run();
        if found.status == Status::Ok {
            return;
        }
        assert_eq!(found.status, Status::Corrupt, "{}", found.reported());
        let repaired = Command::new("check --repair").path(&self.data).run();
        self.ended(format!("{:?}", repaired.document["notes"]));
        self.follow(before, &repaired);
    }

    /// Does what a repair advises.
    fn follow(&mut self, before: At, repaired: &Ended) {
        assert_eq!(repaired.status, Status::Ok, "{}", repaired.reported());
        let advice = repaired.document["notes"].to_string();
        Command::new("check").path(&self.data).run().expect(Status::Ok);
        if advice.contains(COINS) {
            assert_eq!(repaired.document["result"]["went_back_to"], 0);
            self.model = None;
        } else {
            assert!(advice.contains(INDEX), "{}", repaired.reported());
        }
        let until = before.height.max(1);
        self.command(until).run().succeed();
        self.model = Some(self.reached(until));
    }

    fn compare(&mut self) {
        let Some(model) = self.model else { return };
        let checked = Command::new("check").path(&self.data).run().expect(Status::Ok);
        assert_eq!(checked["tip"], model.height, "{checked:#}");
        assert!(checked["holds"].to_string().contains("coins of height"), "{checked:#}");
        let (tip, statistics) = coins_of(&self.data).expect("coins");
        let found = self.chain.place(tip);
        assert_eq!(found.height, model.height);
        if model.height > 0 {
            assert_eq!(found.branch, model.branch);
            assert_eq!(statistics, self.chain.coins(model));
        }
    }
}

impl Drop for BitcoinWalk<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.taken.iter().for_each(|step| println!("  {step}"));
            println!("  {:?}, branches: {}", self.model, self.branches);
        }
    }
}
