//! A Neo chain, and what a store of each height of it must say: that of one import in one go.

use crate::command::Command;
use crate::program::{Scratch, Stored, blockmill, read_store, succeed};
use blockmill_neo::ledger::HISTORY;
use blockmill_neo::ledger::{ASKERS, CONFLICTS, ROOTS, STORAGE, TRANSACTIONS};
use blockmill_neo::logs::{TRANSFERS, UPDATES};
use blockmill_neo::params::Protocol;
use blockmill_store::{ChainStore, Opening, TableOptions};
use blockmill_verdict::Level;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// How far back contracts see, and blocks of the chain.
const TRACEABLE: &str = "  MaxTraceableBlocks: 3\n";
const LAST: u64 = 30;

/// What a store keeps besides the blocks of executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The state after the last block.
    Latest,
    /// The state as of every block.
    History,
    /// The state after the last block; blocks that contracts see no more are removed.
    Traceable,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Latest, Self::History, Self::Traceable];

    /// Flags of an import of executed blocks.
    pub fn flags(self) -> &'static str {
        match self {
            Self::Latest => "",
            Self::History => "--history",
            Self::Traceable => "--with blocks=traceable",
        }
    }

    /// Tables that do not depend on when a store committed.
    fn tables(self) -> &'static [&'static str] {
        const ALL: [&str; 8] =
            [STORAGE, TRANSACTIONS, UPDATES, CONFLICTS, TRANSFERS, ROOTS, ASKERS, HISTORY];
        match self {
            Self::Latest => &ALL[..7],
            Self::History => &ALL,
            Self::Traceable => &ALL[..3],
        }
    }
}

/// What a store has: its blocks, and its tables by name.
pub struct Content {
    pub blocks: Stored,
    pub tables: Tables,
}

type Tables = BTreeMap<&'static str, BTreeMap<Vec<u8>, Vec<u8>>>;

pub struct Chain {
    pub dump: PathBuf,
    pub configuration: PathBuf,
    pub last: u64,
    scratch: PathBuf,
    content: Mutex<HashMap<(Kind, u64), Arc<Content>>>,
}

impl Chain {
    pub fn new(scratch: &Scratch) -> Self {
        let folder = scratch.path("chain");
        let words = format!("generate neo --mixed --blocks {LAST} --txs 6 --accounts 8 --out");
        succeed(blockmill(&words).arg(&folder));
        // apart, so that no import finds the configuration by itself
        let (dump, configuration) = (scratch.path("chain.acc"), folder.join("chain.yml"));
        fs::copy(folder.join("chain.acc"), &dump).expect("a dump");
        let text = fs::read_to_string(&configuration).expect("a configuration");
        let text = text.replace("  MaxTraceableBlocks: 2102400\n", TRACEABLE);
        assert!(text.contains(TRACEABLE));
        fs::write(&configuration, text).expect("a configuration");
        let scratch = scratch.path("references");
        let content = Mutex::default();
        let mut chain = Self { dump, configuration, last: u64::from(u32::MAX), scratch, content };
        chain.last = chain.content(Kind::Latest, chain.last).blocks.tip.expect("blocks").number;
        assert!(chain.last >= LAST);
        chain
    }

    pub fn protocol(&self) -> Protocol {
        let text = fs::read_to_string(&self.configuration).expect("a configuration");
        Protocol::from_yaml(&text).expect("a configuration")
    }

    /// What a store has that is built in one go up to a height.
    pub fn content(&self, kind: Kind, height: u64) -> Arc<Content> {
        let mut content = self.content.lock().expect("content");
        let build = || {
            let data = self.scratch.join(format!("{kind:?}-{height}"));
            // all blocks of a store that removes some
            let flags = if kind == Kind::Traceable { "" } else { kind.flags() };
            // the greatest height is that of all blocks
            let is_part = height < u64::from(u32::MAX);
            let until = if is_part { format!("--until {height}") } else { String::new() };
            let words = format!("import --threads 1 {until} {flags} --chain");
            let import = Command::new(&words).path(&self.configuration).words("--data");
            import.path(&data).path(&self.dump).run().succeed();
            Arc::new(read_content(&data, kind, Level::Execution))
        };
        Arc::clone(content.entry((kind, height)).or_insert_with(build))
    }

    /// The blocks from one height to another as a dump.
    pub fn dump(&self, range: (u64, u64), out: &Path) -> Vec<u8> {
        dump(&self.dump, range, out)
    }
}

/// A dump of these blocks of a dump or of a store.
pub fn dump(from: &Path, (first, last): (u64, u64), out: &Path) -> Vec<u8> {
    let words = format!("convert --to acc --force --from {first} --until {last} --out");
    Command::new(&words).path(out).path(from).run().succeed();
    fs::read(out).expect("a dump")
}

/// All that a store has, but for tables that depend on when it committed.
pub fn read_content(data: &Path, kind: Kind, level: Level) -> Content {
    let mut content = Content { blocks: read_whole(data), tables: Tables::new() };
    if level < Level::Execution {
        return content;
    }
    for name in kind.tables() {
        let part = |opening: &mut Opening| opening.table(name, &TableOptions::new(1 << 20));
        let (_, table) = ChainStore::open_read_only_with(data, part).expect("a store");
        let (mut found, mut scan) = (BTreeMap::new(), table.iter().expect("a table"));
        while let Some((key, value)) = scan.next().expect("an entry") {
            found.insert(key.to_vec(), value.to_vec());
        }
        content.tables.insert(name, found);
    }
    content
}

/// The blocks of a store from the first whole one on.
fn read_whole(data: &Path) -> Stored {
    let (store, _) = ChainStore::open_read_only(data).expect("a store");
    match store.first_whole() == store.first() {
        true => read_store(data),
        false => {
            let (first, tip) = (store.first_whole(), store.tip());
            let numbers = first.unwrap_or(0)..=tip.map_or(0, |tip| tip.number);
            let block = |number| crate::program::StoredBlock {
                hash: store.hash_of(number).expect("a hash").expect("a stored hash"),
                header: store.header(number).expect("a header").expect("a stored header"),
                body: store.body(number).expect("a body"),
                receipts: store.receipts(number).expect("a log"),
            };
            Stored { tip, first, blocks: numbers.map(block).collect() }
        }
    }
}
