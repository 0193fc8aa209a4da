//! Walks over stores of Neo blocks: import, resume, stop, kill, unwind, conversion, corruption and
//! repair.

use crate::command::{Command, Ended};
use crate::deeds::{self, Deed};
use crate::neo_model::{Chain, Kind, dump, read_content};
use crate::program::{Random, tip_of};
use crate::walks::Seen;
use blockmill_archive::{ChunkLimit, acc};
use blockmill_neo::Error;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import as engine};
use blockmill_neo::ledger::StoreReader;
use blockmill_neo::ledger::{Ledger, unwind_blocks};
use blockmill_neo::settings::{KeptBlocks, Settings};
use blockmill_pipeline::Cancel;
use blockmill_store::{ChainStore, CrashPoint};
use blockmill_verdict::{Level, Status};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files without which a store is as one that never had them.
const UNTOLD: [&str; 2] = ["lock", "first-block-added"];
/// The advice for a store that nothing in place repairs; that for one without its manifest, which
/// may be that of another chain.
const ANEW: [&str; 2] =
    ["import the dumps again into a new folder", "import the archive again into a new folder"];

pub struct NeoWalk<'a> {
    chain: &'a Chain,
    random: &'a mut Random,
    folder: &'a Path,
    data: PathBuf,
    stores: u32,
    /// Level and last block; none before the first commit.
    model: Option<(Level, u64)>,
    kind: Kind,
    /// The `--unwind-depth` of its imports.
    depth: u64,
    /// An unwind can go back to this block at least.
    earliest: u64,
    /// The last step was a kill.
    killed: bool,
    /// A kill left blocks that only light commits have: corruption may take them back.
    unsynced: bool,
    taken: Vec<String>,
    pub seen: Seen,
}

impl<'a> NeoWalk<'a> {
    pub fn new(chain: &'a Chain, folder: &'a Path, random: &'a mut Random) -> Self {
        let (depth, kind) = (random.pick(&[4, 10_000]), random.pick(&Kind::ALL));
        Self {
            chain,
            random,
            folder,
            data: folder.join("store-0"),
            stores: 0,
            model: None,
            kind,
            depth,
            earliest: 0,
            killed: false,
            unsynced: false,
            taken: vec![],
            seen: Seen::new(),
        }
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
        match (self.model, self.random.below(17_u32)) {
            (_, 0..=2) => self.import(),
            (_, 3 | 4) => self.stop(),
            (_, 5 | 6) => self.kill(),
            (Some((level, tip)), 7..=9) => self.unwind(level, tip),
            (Some((level, tip)), 10 | 11) => self.kill_unwind(level, tip),
            (Some((level, tip)), 12) => self.convert(level, tip),
            (Some((level, tip)), 13..) => self.corrupt(level, tip),
            _ => self.import(),
        }
        self.compare();
    }

    fn command(&self, level: Level, until: u64, chunk: usize) -> Command {
        let words = format!(
            "import --threads 1 --level {} --until {until} --chunk {chunk} --unwind-depth {}",
            level.name(),
            self.depth
        );
        let mut command = Command::new(&words);
        if self.model.is_none() {
            command = command.words("--chain").path(&self.chain.configuration);
        }
        if level == Level::Execution {
            command = command.words(self.kind.flags());
        }
        command.words("--data").path(&self.data).path(&self.chain.dump)
    }

    /// Level, last block and size of chunks of an import.
    fn any_import(&mut self) -> (Level, u64, usize) {
        let levels = [Level::Headers, Level::Bodies, Level::Execution, Level::Execution];
        let level = self.model.map_or_else(|| self.random.pick(&levels), |(level, _)| level);
        (level, 1 + self.random.below(self.chain.last), 1 + self.random.below(6_usize))
    }

    fn import(&mut self) {
        let (level, until, chunk) = self.any_import();
        self.note("import", format!("{} --until {until} --chunk {chunk}", level.name()));
        let ended = self.command(level, until, chunk).run();
        self.imported(&ended, level, until);
    }

    fn stop(&mut self) {
        let (level, until, chunk) = self.any_import();
        let after = 1 + self.random.below(12_u64);
        self.note("stop", format!("{} --until {until} --chunk {chunk}, {after}", level.name()));
        let ended = self.command(level, until, chunk).stop_after(after);
        self.imported(&ended, level, until);
    }

    fn imported(&mut self, ended: &Ended, level: Level, until: u64) {
        assert!(ended.is_success_or_stop(), "{}", ended.reported());
        self.adopt_partial(level, until, ended.status.is_success());
        self.unsynced = false;
    }

    /// After an import that may have ended in the middle.
    fn adopt_partial(&mut self, level: Level, until: u64, whole: bool) {
        let before = self.model.map_or(0, |(_, tip)| tip);
        let Some(tip) = tip_of(&self.data) else {
            assert!(self.model.is_none() && !whole, "nothing is left");
            return;
        };
        self.ended(format!("ended at block {tip}"));
        assert!((before..=before.max(until)).contains(&tip), "{tip}");
        assert!(!whole || tip == before.max(until), "{tip}");
        self.model = Some((level, tip));
        self.earliest = self.earliest.max(tip.saturating_sub(self.depth));
    }

    /// An import that dies at a point of a commit.
    fn kill(&mut self) {
        let (level, until, chunk) = self.any_import();
        let crash = (self.random.pick(&CrashPoint::ALL), self.random.below(16_u32));
        let words = format!("{} --until {until} --chunk {chunk}, {crash:?}", level.name());
        self.note("kill", words);
        (self.killed, self.unsynced) = (true, true);
        let ended = self.engine((level, until, chunk), crash);
        self.adopt_partial(level, until, ended_whole(ended.map(drop)));
    }

    fn engine(
        &self,
        (level, until, chunk): (Level, u64, usize),
        crash: (CrashPoint, u32),
    ) -> Result<(), Error> {
        let blocks = match self.kind {
            Kind::Traceable => KeptBlocks::Traceable,
            Kind::Latest | Kind::History => KeptBlocks::All,
        };
        let options = Options {
            level,
            settings: Settings { blocks, ..Settings::default() },
            batch: ChunkLimit { blocks: chunk, ..ChunkLimit::default() },
            until: u32::try_from(until).ok(),
            commit_every: Duration::ZERO,
            ..Options::new(self.chain.protocol())
        };
        let dumps = acc::open(std::slice::from_ref(&self.chain.dump))?;
        let stored = dying(crash);
        let mut sink = match (level, self.kind) {
            (Level::Execution, kind) => {
                let ledger = match kind {
                    Kind::History => Ledger::open_with_history(&self.data, &stored)?,
                    _ => Ledger::open(&self.data, &stored)?,
                };
                let depth = u32::try_from(self.depth).expect("a depth");
                Sink::Ledger(Box::new(ledger.with_depth(depth)))
            }
            _ => Sink::Store(Box::new(ChainStore::open(&self.data, &stored)?.0)),
        };
        engine(&dumps, &options, &mut sink, |_| {}).1
    }

    fn unwind(&mut self, level: Level, tip: u64) {
        let to = self.random.below(tip + 2);
        self.note("unwind", format!("--to {to}"));
        let ended = Command::new(&format!("unwind --to {to}")).path(&self.data).run();
        if to > tip {
            return ended.refuse(&["found --to"]);
        }
        if ended.status == Status::Usage && ended.message().contains("were removed") {
            assert_eq!((level, self.kind), (Level::Execution, Kind::Traceable));
            return;
        }
        if ended.status == Status::Usage {
            assert_eq!(level, Level::Execution, "{}", ended.reported());
            assert!(to < self.earliest, "{}", ended.reported());
            return ended.refuse(&["as the undo log begins there"]);
        }
        ended.expect(Status::Ok);
        self.model = Some((level, to));
    }

    fn kill_unwind(&mut self, level: Level, tip: u64) {
        let to = self.random.below(tip + 1);
        let crash = (self.random.pick(&CrashPoint::ALL), self.random.below(3_u32));
        self.note("kill unwind", format!("--to {to}, {crash:?}"));
        self.killed = true;
        let stored = dying(crash);
        let ended = match level {
            Level::Execution => Ledger::open(&self.data, &stored)
                .and_then(|ledger| ledger.unwind(to, &Cancel::new()))
                .map(drop),
            _ => ChainStore::open(&self.data, &stored)
                .map_err(Error::from)
                .and_then(|(mut store, _)| unwind_blocks(&mut store, to))
                .map(drop),
        };
        if matches!(ended, Err(Error::Unwind { .. })) {
            assert!(
                level == Level::Execution && (to < self.earliest || self.kind == Kind::Traceable)
            );
            return;
        }
        let whole = ended_whole(ended);
        let found = tip_of(&self.data).expect("blocks");
        self.ended(format!("ended at block {found}"));
        assert!(found == to || found == tip && !whole, "{found}");
        self.model = Some((level, found));
    }

    /// A dump of a store is that of the chain; a database of neo-go has its root.
    fn convert(&mut self, level: Level, tip: u64) {
        let kept = self.stored().first_whole().unwrap_or(0);
        let whole = kept.max(1);
        self.note("convert", format!("from {whole}"));
        let out = self.folder.join("back.acc");
        if level == Level::Headers || whole > tip {
            return;
        }
        let first = whole + self.random.below(tip + 1 - whole);
        let found = dump(&self.data, (first, tip), &out);
        assert!(found == self.chain.dump((first, tip), &out), "from {first} to {tip}");
        if level < Level::Execution {
            return;
        }
        let out = self.folder.join("neo-go");
        let command = Command::new("convert --to neo-go --force --out").path(&out);
        let ended = command.path(&self.data).run();
        if kept > 0 {
            return ended.refuse(&["block 0 was removed"]);
        }
        let written = ended.succeed();
        assert_eq!(written["height"], tip, "{written:#}");
        let root = self.stored().root().expect("a root");
        assert_eq!(written["root"], root.to_string(), "{written:#}");
    }

    fn stored(&self) -> StoreReader {
        StoreReader::open(&self.data).expect("a store")
    }

    /// Corrupts a file of the store, and does what `check` advises until it finds nothing.
    fn corrupt(&mut self, level: Level, tip: u64) {
        let mut whole = deeds::files(&self.data);
        whole.retain(|name, _| {
            !name.starts_with("records") && !UNTOLD.iter().any(|it| name.as_os_str() == *it)
        });
        let deed = Deed::random(self.random, &whole, &self.data, &mut BTreeSet::new());
        let deed = format!("{deed:?}");
        self.note("corruption", deed.clone());
        let found = Command::new("check").path(&self.data).run();
        let mut went_back = tip;
        if found.status != Status::Ok {
            assert_eq!(found.status, Status::Corrupt, "{}", found.reported());
            let ended = Command::new("check --repair").path(&self.data).run();
            let advice = ended.message() + &ended.document["notes"].to_string();
            self.ended(format!("{:?}: {advice}", ended.status));
            match ended.status {
                Status::Ok => went_back = self.repaired(tip, &ended, &advice),
                _ => {
                    assert_eq!(ended.status, Status::Corrupt, "{}", ended.reported());
                    let is_anew = ANEW.iter().any(|anew| advice.contains(anew));
                    assert!(is_anew, "{}", ended.reported());
                    self.stores += 1;
                    self.data = self.folder.join(format!("store-{}", self.stores));
                    (self.model, self.earliest, went_back) = (None, 0, 0);
                }
            }
        }
        // what only a commit of a kill had may be gone with that commit
        let is_of_commits = deed.contains("manifest\"") || deed.contains("\"light.");
        if (is_of_commits || self.unsynced)
            && let Some(found) = self.model.and_then(|_| tip_of(&self.data))
        {
            assert!(found <= went_back, "{found}");
            (self.model, went_back) = (Some((level, found)), found);
        }
        if went_back < tip || self.model.is_none() {
            let until = tip.max(1);
            let ended = self.command(level, until, 5).run();
            self.imported(&ended, level, until);
        }
    }

    /// After a repair in place; the last block.
    fn repaired(&mut self, tip: u64, ended: &Ended, advice: &str) -> u64 {
        let level = self.model.map_or(Level::Headers, |(level, _)| level);
        let checked = Command::new("check").path(&self.data).run().expect(Status::Ok);
        *self.seen.entry("repaired").or_default() += 1;
        if advice.contains("the undo log was given up") {
            self.earliest = tip;
        }
        let Some(last) = ended.document["result"]["went_back_to"].as_u64() else {
            assert!(advice.contains("rebuilt") || advice.contains("given up"), "{advice}");
            return tip;
        };
        assert!(last < tip && advice.contains("import the rest again"), "{advice}");
        assert_eq!(checked["tip"], last);
        self.model = Some((level, last));
        // the store at this block is a whole one, before anything is imported
        self.compare();
        last
    }

    fn compare(&mut self) {
        let killed = std::mem::take(&mut self.killed);
        let Some((level, tip)) = self.model else { return };
        let mut checked = Command::new("check").path(&self.data).run();
        if killed && checked.status == Status::Corrupt {
            // half of a commit is what a kill may leave
            let parts =
                checked.document["result"]["corruption"].as_array().expect("a list").clone();
            assert!(
                parts.iter().all(|part| part["mends_itself"] == true),
                "{}",
                checked.reported()
            );
            Command::new("check --repair").path(&self.data).run().expect(Status::Ok);
            checked = Command::new("check").path(&self.data).run();
        }
        let checked = checked.expect(Status::Ok);
        assert_eq!(checked["tip"], tip, "{checked:#}");
        let held = checked["holds"].to_string();
        assert!(held.contains(&format!("level {}", level.name())), "{held}");
        let found = read_content(&self.data, self.kind, level);
        let expected = self.chain.content(self.kind, tip);
        let skipped = expected.blocks.blocks.len() - found.blocks.blocks.len();
        let pairs = expected.blocks.blocks[skipped..].iter().zip(&found.blocks.blocks);
        for (expected, found) in pairs {
            assert_eq!((&found.hash, &found.header), (&expected.hash, &expected.header));
            if level >= Level::Bodies {
                assert_eq!(found.body, expected.body);
            }
            if level >= Level::Execution {
                assert_eq!(found.receipts, expected.receipts);
            }
        }
        for (name, entries) in &found.tables {
            assert!(*entries == expected.tables[name], "table {name} of block {tip}");
        }
    }
}

/// Options of a store whose process dies there.
fn dying(crash: (CrashPoint, u32)) -> blockmill_store::Options {
    blockmill_store::Options { crash_at: Some(crash), ..blockmill_store::Options::default() }
}

/// Did it come to its end, rather than die where it was to?
fn ended_whole(ended: Result<(), Error>) -> bool {
    match ended {
        Ok(()) => true,
        Err(error) if error.to_string().contains("crash") => false,
        Err(error) => panic!("{error}"),
    }
}

impl Drop for NeoWalk<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { depth, kind, .. } = self;
            println!("--unwind-depth {depth}, {kind:?}");
            self.taken.iter().for_each(|step| println!("  {step}"));
            println!("  {:?}, earliest {}", self.model, self.earliest);
        }
    }
}
