//! The steps of a walk over a store of Ethereum blocks.

use crate::command::{Command, Ended};
use crate::ethereum_walk::{Kind, Model, Walk};
use blockmill_archive::{Archive, ChunkLimit};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::{ExecutedStore, Limits};
use blockmill_ethereum::error::Error;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::options::OptionSet;
use blockmill_store::{ChainStore, CrashPoint};
use blockmill_verdict::{Level, Status};
use std::fs;
use std::path::Path;
use std::sync::Arc;

const LEVELS: [Level; 3] = [Level::Headers, Level::Bodies, Level::Execution];

impl Walk<'_> {
    /// Takes any step that can be taken.
    pub fn take_step(&mut self) {
        let Some(model) = self.model else { return self.import_some() };
        let executed = model.state.is_some();
        match self.random.below(if executed { 22_u32 } else { 12 }) {
            0..=3 => self.import_some(),
            4 | 5 => self.stop_import(),
            6 | 7 => self.kill_import(),
            8 | 9 => self.unwind(model),
            10 => self.heal(),
            11 => self.convert_back(model),
            12 | 13 => self.kill_unwind(model),
            14 | 15 => self.snapshot(model),
            16 => self.witness(model),
            17 => self.upgrade(),
            18 | 19 => self.corrupt(),
            _ => self.unwind(model),
        }
    }

    /// The flags of an import of the walk's archive.
    pub fn import(&self, data: &Path, level: Level, until: u64, chunk: u64) -> Command {
        let depth = self.depth;
        let words = format!(
            "import --seal off --threads 1 --chunk {chunk} --level {} --until {until} \
             --unwind-depth {depth}",
            level.name()
        );
        // a store knows where its state is, or will be
        let known = self
            .model
            .is_some_and(|model| model.level == Level::Execution || model.begun.is_some());
        let flags = if known { self.kind.resumed_flags() } else { self.kind.flags() };
        let mut command = Command::new(&words).words(flags);
        // a store knows its chain
        if self.model.is_none() {
            command = command.words("--chain").path(&self.chain.genesis);
        }
        command.words("--data").path(data).path(&self.chain.archive)
    }

    fn any_level(&mut self) -> Level {
        match self.model {
            Some(model) if self.random.below(4_u32) > 0 => model.level,
            Some(_) => self.random.pick(&LEVELS),
            None => self.random.pick(&[Level::Headers, Level::Bodies, LEVELS[2], LEVELS[2]]),
        }
    }

    fn import_some(&mut self) {
        let (level, until) = (self.any_level(), 1 + self.random.below(self.chain.last));
        let chunk = 1 + self.random.below(12_u64);
        self.note("import", format!("{} --until {until} --chunk {chunk}", level.name()));
        self.import_whole(level, until, chunk);
    }

    /// The next higher level.
    fn upgrade(&mut self) {
        let level = self.model.map_or(Level::Execution, |model| match model.level {
            Level::Headers => Level::Bodies,
            _ => Level::Execution,
        });
        let until = self.random.pick(&[self.chain.last, self.chain.last / 2]);
        self.note("upgrade", format!("{} --until {until}", level.name()));
        self.import_whole(level, until, 5);
    }

    fn import_whole(&mut self, level: Level, until: u64, chunk: u64) {
        let ended = self.import(&self.data.clone(), level, until, chunk).run();
        let depth = self.depth;
        match &mut self.model {
            None => {
                self.model = Some(Model {
                    earliest: until.saturating_sub(depth),
                    ..Model::new(level, until)
                })
            }
            Some(model) if level < model.level => {
                return ended.refuse(&[&format!("blocks of level {}", model.level.name())]);
            }
            Some(model) if level == model.level || model.level == Level::Bodies => {
                model.reaches(level, until, depth);
            }
            Some(_) => return self.upgraded(ended, level, Some(until)),
        }
        ended.succeed();
    }

    /// After an import for the headers of a store: they are as they were, or replaced by all.
    fn upgraded(&mut self, ended: Ended, level: Level, until: Option<u64>) {
        let Some(before) = self.model else { return };
        let (tip, state) = Walk::read(&self.data).expect("a store");
        if tip.level == Level::Headers as u8 {
            let begun = Walk::read(&self.upgrading());
            if let Some((upgrading, _)) = begun
                && upgrading.level > level as u8
            {
                let folder = self.upgrading().display().to_string();
                return ended.refuse(&["level execution", "--level execution", &folder]);
            }
            assert!(ended.is_success_or_stop(), "{}", ended.reported());
            let reached = begun.map_or(0, |(tip, _)| tip.number);
            assert!(reached < before.tip, "{reached} of {}", before.tip);
            assert!(until.is_none_or(|until| until <= reached), "{reached}");
            self.ended(format!("upgrading up to {reached}"));
            return;
        }
        assert!(ended.is_success_or_stop(), "{}", ended.reported());
        assert!(!self.upgrading().exists());
        let level = Level::stored(tip.level).expect("a level");
        let mut model = Model::new(level, 0);
        model.reaches(level, tip.number, self.depth);
        assert!(level == Level::Execution || state.is_none());
        assert!(tip.number >= before.tip && until.is_none_or(|until| until <= tip.number));
        self.model = Some(model);
    }

    /// An import that is asked to stop after some blocks.
    fn stop_import(&mut self) {
        let level = self.any_level().max(self.model.map_or(Level::Headers, |model| model.level));
        let (until, after) =
            (1 + self.random.below(self.chain.last), 1 + self.random.below(30_u64));
        let chunk = 1 + self.random.below(5_u64);
        let words = format!("{} --until {until} --chunk {chunk}, {after}", level.name());
        self.note("stop", words);
        let command = self.import(&self.data.clone(), level, until, chunk);
        let ended = command.stop_after(after);
        if self.model.is_some_and(|model| model.level == Level::Headers && level > model.level) {
            return self.upgraded(ended, level, None);
        }
        assert!(ended.is_success_or_stop(), "{}", ended.reported());
        self.adopt_partial(level, until, ended.status.is_success());
    }

    /// After an import that may have ended in the middle: blocks up to one on the way.
    fn adopt_partial(&mut self, level: Level, until: u64, whole: bool) {
        let found = Walk::read(&self.data);
        let before = self.model;
        let Some((tip, state)) = found else {
            assert_eq!(before, None, "nothing is left");
            return;
        };
        self.ended(format!("ended at block {}, state {state:?}, level {}", tip.number, tip.level));
        let last = before.map_or(0, |model| model.tip);
        assert!((last..=last.max(until)).contains(&tip.number), "{}", tip.number);
        let found = Level::stored(tip.level).expect("a level");
        let is_begun = before.is_some_and(|model| found == model.level);
        assert!(found == level || is_begun, "level {}", found.name());
        let mut model = before.unwrap_or(Model::new(found, 0));
        let had = model.state.or(model.begun);
        model.reaches(found, tip.number, self.depth);
        assert!(state >= had && state.is_none_or(|state| state <= tip.number), "{state:?}");
        if whole {
            assert_eq!((found, tip.number), (level, last.max(until)));
        }
        if found < Level::Execution {
            assert!(state == had || level == Level::Execution, "{state:?}");
            model.begun = state;
        } else if !whole {
            model.state = state;
        }
        self.model = Some(model);
    }

    /// An import that dies at a point of a commit.
    fn kill_import(&mut self) {
        let level = self.any_level().max(self.model.map_or(Level::Headers, |model| model.level));
        if self.model.is_some_and(|model| model.level == Level::Headers && level > model.level) {
            return self.stop_import();
        }
        let until = 1 + self.random.below(self.chain.last);
        let chunk = 1 + self.random.below(8_usize);
        let crash = (self.random.pick(&CrashPoint::ALL), self.random.below(16_u32));
        let words = format!("{} --until {until} --chunk {chunk}, {crash:?}", level.name());
        self.note("kill", words);
        self.killed = true;
        let options = self.options(level, until, chunk);
        let ended = self.engine(&options, crash);
        let whole = match ended {
            Ok(()) => true,
            Err(Error::Store(blockmill_store::Error::Crash(_))) => false,
            Err(error) if error.to_string().contains("crash") => false,
            Err(error) => panic!("{error}"),
        };
        self.adopt_partial(level, until, whole);
    }

    fn settings(&self) -> Settings {
        let flags: Vec<_> = self.kind.flags().split_whitespace().collect();
        let with = flags.windows(2).filter(|pair| pair[0] == "--with");
        let with: Vec<&str> = with.map(|pair| pair[1]).collect();
        Settings::default().with(&with).expect("options")
    }

    fn limits(&self) -> Limits {
        let memory = if self.kind == Kind::PagesCached { 1 << 20 } else { 16 << 20 };
        let disk = self.settings().disk(memory, 1);
        Limits { depth: self.depth, state: self.kind.state(), disk, ..Limits::default() }
    }

    fn options(&self, level: Level, until: u64, chunk: usize) -> Options {
        let text = fs::read_to_string(&self.chain.genesis).expect("a genesis.json");
        let spec = ChainSpec::from_genesis_json(&text).expect("a genesis.json");
        Options {
            spec: Arc::new(spec),
            level,
            seal: SealPolicy { mode: SealMode::Off, seed: 0 },
            settings: self.settings(),
            threads: 1,
            chunk: ChunkLimit { blocks: chunk, ..ChunkLimit::default() },
            from: None,
            until: Some(until),
            partial: false,
            recheck: true,
            trust: vec![],
            caches: Caches::new(None, 1),
            now: None,
            consumer: None,
            cancel: Cancel::new(),
        }
    }

    fn engine(&self, options: &Options, crash: (CrashPoint, u32)) -> Result<(), Error> {
        let archive = Archive::open(std::slice::from_ref(&self.chain.archive))?;
        let stored = blockmill_store::Options {
            crash_at: Some(crash),
            ..blockmill_store::Options::default()
        };
        let mut sink = match options.level {
            Level::Execution => {
                let (store, _) = ExecutedStore::open(&self.data, &stored, self.limits())?;
                Sink::Executed(Box::new(store))
            }
            _ => Sink::Segments(Box::new(ChainStore::open(&self.data, &stored)?.0)),
        };
        import(&archive, options, &mut sink, |_| {}).1
    }

    fn unwind(&mut self, model: Model) {
        let to = self.random.below(model.tip + 2);
        self.note("unwind", format!("--to {to}"));
        let ended = Command::new(&format!("unwind --to {to}")).path(&self.data).run();
        if to > model.tip {
            return ended.refuse(&["one of the blocks", "found --to"]);
        }
        if let Some(state) = model.state.or(model.begun).filter(|state| to < *state)
            && let Some(earliest) = self.earliest()
            && to < earliest
        {
            assert!(earliest <= state);
            return ended.refuse(&[&format!("block {earliest} or later")]);
        }
        ended.expect(Status::Ok);
        self.unwound(to);
    }

    /// The first block that the store says it can go back to.
    fn earliest(&self) -> Option<u64> {
        ExecutedStore::open_read_only(&self.data).expect("a store").earliest()
    }

    pub fn unwound(&mut self, to: u64) {
        if let Some(model) = &mut self.model {
            model.tip = to;
            model.state = model.state.map(|state| state.min(to));
            model.begun = model.begun.map(|state| state.min(to));
        }
    }

    fn kill_unwind(&mut self, model: Model) {
        let to = self.random.below(model.tip + 1).max(self.earliest().unwrap_or(0));
        let crash = (self.random.pick(&CrashPoint::ALL), self.random.below(3_u32));
        self.note("kill unwind", format!("--to {to}, {crash:?}"));
        self.killed = true;
        let stored = blockmill_store::Options {
            crash_at: Some(crash),
            ..blockmill_store::Options::default()
        };
        let opened = ExecutedStore::open(&self.data, &stored, self.limits());
        let ended = opened.and_then(|(mut store, _)| store.unwind(to, &Cancel::new()));
        let whole = match ended {
            Ok(_) => true,
            Err(error) if error.to_string().contains("crash") => false,
            Err(error) => panic!("{error}"),
        };
        let (tip, _) = Walk::read(&self.data).expect("a store");
        self.ended(format!("ended at block {}", tip.number));
        assert!((to..=model.tip).contains(&tip.number) && (!whole || tip.number == to));
        self.unwound(tip.number);
    }

    fn heal(&mut self) {
        self.note("heal", String::new());
        let ended = Command::new("heal").path(&self.data).run();
        let has_state = self.model.is_some_and(|model| model.state.or(model.begun).is_some());
        if !has_state || self.kind != Kind::FlatTrie {
            return ended.refuse(&["state=flat+trie"]);
        }
        let healed = ended.expect(Status::Verified);
        for field in ["values", "nodes", "removed", "lost"] {
            assert_eq!(healed[field], 0, "{healed:#}");
        }
    }

    /// The store as an archive again: what it was imported from.
    fn convert_back(&mut self, model: Model) {
        self.note("convert", String::new());
        let out = self.folder.join("back.rlp");
        let words = "convert --to rlp --force --out";
        let ended = Command::new(words).path(&out).path(&self.data).run();
        if model.level == Level::Headers {
            assert!(!ended.status.is_success(), "{}", ended.reported());
            return;
        }
        ended.succeed();
        let found = fs::read(&out).expect("an export");
        // of a store of block 0 alone that is all there is
        let is_equal = model.tip == 0 || found == self.chain.export(model.tip);
        assert!(is_equal, "{} bytes", found.len());
    }

    /// The snapshot of a state is that of the reference, and may become another store.
    fn snapshot(&mut self, model: Model) {
        let Some(state) = model.state else { return };
        let earliest = self.earliest().unwrap_or(0);
        let block = self.random.below(state + 1).max(earliest);
        let continues = self.random.coin();
        self.note("snapshot", format!("--until {block}, continues: {continues}"));
        let out = self.folder.join("state.snapshot");
        let words = format!("convert --to snapshot --force --until {block} --out");
        Command::new(&words).path(&out).path(&self.data).run().succeed();
        let found = fs::read(&out).expect("a snapshot");
        assert!(found == *self.chain.snapshot(block), "the snapshot after block {block}");
        if !continues || block == 0 {
            return;
        }
        let (data, kind) = (self.next_data(), self.random.pick(&Kind::ALL));
        (self.model, self.kind, self.data) = (None, kind, data);
        self.ended(format!("continues with {kind:?} in {}", self.data.display()));
        self.import(&self.data.clone(), Level::Bodies, block, 7).run().succeed();
        let words = format!("import --unwind-depth {} {} --data", self.depth, kind.flags());
        Command::new(&words).path(&self.data).path(&out).run().succeed();
        let model = Model::new(Level::Execution, block);
        self.model = Some(Model { base: block, earliest: block, ..model });
    }

    /// The witness of a block executes.
    fn witness(&mut self, model: Model) {
        let Some(state) = model.state else { return };
        let earliest = self.earliest().unwrap_or(0);
        let block = self.random.below(state + 1).max(earliest + 1);
        if block > state {
            return;
        }
        self.note("witness", format!("--block {block}"));
        let out = self.folder.join("witness.json");
        let words = format!("witness --block {block} --force --out");
        Command::new(&words).path(&out).path(&self.data).run().succeed();
    }
}
