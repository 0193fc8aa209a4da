//! Corruption of a store on a walk, and what `check` advises.

use crate::command::{Command, Ended};
use crate::deeds::{Deed, files};
use crate::ethereum_walk::{Kind, Model, Walk};
use blockmill_verdict::{Level, Status};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The advice for a store of which nothing is left.
const ANEW: &str = "import the archive again into a new folder";
/// The advice for a lost genesis.json.
const CHAIN: &str = "import again with --chain genesis.json";

impl Walk<'_> {
    /// Corrupts a file of the store, and does what `check` advises until it finds nothing.
    pub fn corrupt(&mut self) {
        let Some(before) = self.model else { return };
        let store = self.data.display();
        // the advice for a store of which only the state is corrupt, and for one with two copies
        let again = format!("`blockmill import {store} --data NEW`");
        let heal = format!("`blockmill heal {store}`");
        let mut whole = files(&self.data);
        whole.retain(|name, _| !name.starts_with("records"));
        let deed = Deed::random(self.random, &whole, &self.data, &mut BTreeSet::new());
        self.note("corruption", format!("{deed:?}"));
        let is_of_commits =
            format!("{deed:?}").contains("manifest\"") || format!("{deed:?}").contains("\"light.");
        for round in 0.. {
            assert!(round < 4, "no advice helped");
            let found = Command::new("check").path(&self.data).run();
            if found.status == Status::Ok {
                break;
            }
            assert_eq!(found.status, Status::Corrupt, "{}", found.reported());
            let found = Command::new("check --repair").path(&self.data).run();
            let reported = found.message() + &found.document["notes"].to_string();
            self.ended(format!("{:?}: {reported}", found.status));
            if found.status == Status::Ok {
                let went_back = found.document["result"]["went_back_to"].as_u64();
                if self.repaired(before, went_back, &reported) {
                    return;
                }
                break;
            }
            assert_eq!(found.status, Status::Corrupt, "{}", found.reported());
            if reported.contains(CHAIN) {
                self.name_chain(before, &found, &reported);
            } else if reported.contains(&heal) {
                assert_eq!(self.kind, Kind::FlatTrie);
                let healed = Command::new("heal").path(&self.data).run();
                if healed.status == Status::Verified {
                    continue;
                }
                assert!(healed.message().contains(&again), "{}", healed.reported());
                self.again(before);
            } else if reported.contains(&again) {
                self.again(before);
            } else {
                assert!(reported.contains(ANEW), "{}", found.reported());
                self.anew(before);
            }
        }
        // what only a commit of a kill had may be gone with that commit
        if is_of_commits
            && let Some((tip, state)) = Walk::read(&self.data)
            && let Some(model) = &mut self.model
        {
            assert!(tip.number <= model.tip);
            model.level = Level::stored(tip.level).expect("a level");
            let is_executed = model.level == Level::Execution;
            (model.tip, model.state) = (tip.number, state.filter(|_| is_executed));
            model.begun = state.filter(|_| !is_executed);
        }
    }

    /// Does what a repair advises; true when that was to import the rest.
    fn repaired(&mut self, before: Model, went_back: Option<u64>, reported: &str) -> bool {
        Command::new("check").path(&self.data).run().expect(Status::Ok);
        if let Some(number) = went_back {
            assert!(number <= before.tip, "{reported}");
            self.unwound(number);
        }
        if reported.contains("without its state") || reported.contains("was given up") {
            self.lost_state();
        }
        let again =
            reported.contains("import the rest again") || reported.contains("the archive again");
        match again {
            true => self.import_rest(before),
            false => assert!(reported.contains("rebuilt"), "{reported}"),
        }
        again
    }

    /// Imports with the chain's genesis.json, after a repair of what else was corrupt.
    fn name_chain(&mut self, before: Model, found: &Ended, reported: &str) {
        if let Some(number) = found.document["result"]["went_back_to"].as_u64() {
            assert!(number <= before.tip, "{reported}");
            self.unwound(number);
        }
        if reported.contains("without its state") || reported.contains("was given up") {
            self.lost_state();
        }
        let until = before.tip.max(1);
        let command = self.import(&self.data.clone(), before.level, until, 9);
        command.words("--chain").path(&self.chain.genesis).run().succeed();
        let depth = self.depth;
        if let Some(model) = &mut self.model {
            model.reaches(before.level, until, depth);
        }
    }

    /// A repair has given up the state: the next import makes it again from block 0 on.
    fn lost_state(&mut self) {
        if let Some(model) = &mut self.model {
            (model.state, model.base, model.earliest) = (None, 0, 0);
        }
    }

    /// Imports the archive again after a repair went back.
    fn import_rest(&mut self, before: Model) {
        if before.tip == 0 {
            return;
        }
        self.import(&self.data.clone(), before.level, before.tip, 9).run().succeed();
        let depth = self.depth;
        if let Some(model) = &mut self.model {
            model.reaches(before.level, before.tip, depth);
        }
    }

    /// Imports the blocks of the store into a new folder.
    fn again(&mut self, before: Model) {
        let (old, data) = (self.data.clone(), self.next_data());
        let level = before.level.name();
        let words = format!("import --seal off --level {level} --unwind-depth {}", self.depth);
        let command = Command::new(&words).words(self.kind.flags()).words("--data").path(&data);
        command.path(&old).run().succeed();
        self.continue_in(data, before);
    }

    /// Imports the archive into a new folder.
    fn anew(&mut self, before: Model) {
        let data = self.next_data();
        self.model = None;
        // the archive begins with block 1
        let until = before.tip.max(1);
        self.import(&data, before.level, until, 9).run().succeed();
        self.continue_in(data, Model { tip: until, ..before });
    }

    fn continue_in(&mut self, data: PathBuf, before: Model) {
        self.data = data;
        let mut model = Model::new(before.level, 0);
        model.reaches(before.level, before.tip, self.depth);
        self.model = Some(model);
    }
}
