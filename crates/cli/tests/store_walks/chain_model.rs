//! What a store of a chain must say: the blocks of the archive, and a reference store that one
//! import with its state in memory wrote.

use crate::command::Command;
use crate::program::{fixtures, hex, read_store};
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::snapshot::{Entry, read};
use blockmill_pipeline::Cancel;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// An account, and slots of its storage, as digits.
type Account = (String, Vec<String>);

/// A chain and all that can be asked of a store of it.
pub struct Chain {
    /// The archive, in a folder without a genesis.json.
    pub archive: PathBuf,
    pub genesis: PathBuf,
    pub last: u64,
    bytes: Vec<u8>,
    /// Where each block ends in the archive, which begins with block 1.
    ends: Vec<usize>,
    pub hashes: Vec<[u8; 32]>,
    /// The state root of each block, as digits.
    pub roots: Vec<String>,
    reference: PathBuf,
    accounts: Vec<Account>,
    proofs: Mutex<HashMap<(u64, usize), Value>>,
    snapshots: Mutex<HashMap<u64, Arc<Vec<u8>>>>,
}

impl Chain {
    /// A published chain through every fork; its files go to `scratch`.
    pub fn published(scratch: &Path) -> Self {
        Self::of(scratch, &fixtures().join("chains/execution-apis"))
    }

    /// The chain of a folder with `chain.rlp` and `genesis.json`.
    fn of(scratch: &Path, folder: &Path) -> Self {
        let [archive, genesis, reference, snapshot] =
            ["archive/chain.rlp", "genesis.json", "reference", "last.snapshot"]
                .map(|name| scratch.join(name));
        fs::create_dir(scratch.join("archive")).expect("a folder");
        let bytes = fs::read(folder.join("chain.rlp")).expect("an archive");
        fs::write(&archive, &bytes).expect("an archive");
        let text = fs::read(folder.join("genesis.json")).expect("a genesis.json");
        fs::write(&genesis, text).expect("a genesis.json");
        let import = Command::new("import --seal off --chain").path(&genesis);
        import.words("--data").path(&reference).path(&archive).run().succeed();
        let convert = Command::new("convert --to snapshot --chain").path(&genesis).words("--out");
        convert.path(&snapshot).path(&reference).run().succeed();
        let blocks = read_store(&reference).blocks;
        let root = |header: &[u8]| hex(HeaderView::decode(header).expect("a header").state_root);
        Self {
            ends: ends(&bytes),
            bytes,
            last: blocks.len() as u64 - 1,
            hashes: blocks.iter().map(|block| block.hash).collect(),
            roots: blocks.iter().map(|block| root(&block.header)).collect(),
            accounts: accounts(&snapshot),
            archive,
            genesis,
            reference,
            proofs: Mutex::default(),
            snapshots: Mutex::default(),
        }
    }

    /// The archive up to and with block `last`.
    pub fn export(&self, last: u64) -> &[u8] {
        &self.bytes[..self.ends[last as usize]]
    }

    /// Number of accounts that proofs can be asked for.
    pub fn accounts(&self) -> usize {
        self.accounts.len()
    }

    /// The command that asks a store for a proof.
    pub fn prove(&self, data: &Path, block: u64, account: usize) -> Command {
        let (address, slots) = &self.accounts[account];
        let slots: String = slots.iter().map(|slot| format!(" --slot {slot}")).collect();
        Command::new(&format!("prove --account {address}{slots} --block {block}")).path(data)
    }

    /// What it has to answer.
    pub fn proof(&self, block: u64, account: usize) -> Value {
        let mut proofs = self.proofs.lock().expect("proofs");
        let ask = || self.prove(&self.reference, block, account).run().succeed();
        let proof = proofs.entry((block, account)).or_insert_with(ask);
        assert_eq!(proof["state_root"], self.roots[block as usize]);
        proof.clone()
    }

    /// The snapshot of the state after a block.
    pub fn snapshot(&self, block: u64) -> Arc<Vec<u8>> {
        let mut snapshots = self.snapshots.lock().expect("snapshots");
        let make = || {
            let out = self.genesis.with_file_name(format!("{block}.snapshot"));
            let words = format!("convert --to snapshot --force --until {block} --chain");
            let convert = Command::new(&words).path(&self.genesis).words("--out").path(&out);
            convert.path(&self.reference).run().succeed();
            Arc::new(fs::read(out).expect("a snapshot"))
        };
        Arc::clone(snapshots.entry(block).or_insert_with(make))
    }
}

/// Where each of the RLP lists in `bytes` ends; 0 first.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let (mut ends, mut at) = (vec![0], 0);
    while at < bytes.len() {
        let long = usize::from(bytes[at].checked_sub(0xf7).expect("a long list"));
        let length =
            bytes[at + 1..=at + long].iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        at += 1 + long + length;
        ends.push(at);
    }
    ends
}

/// All accounts of a snapshot, with some of their slots; and one that is not there.
fn accounts(snapshot: &Path) -> Vec<Account> {
    let mut all: Vec<Account> = vec![(hex([7; 20]), vec!["0x0".into()])];
    let file = File::open(snapshot).expect("a snapshot");
    let mut take = |entry: Entry<'_>| {
        match entry {
            Entry::Account(address, _) => all.push((hex(address), vec!["0x5".into()])),
            Entry::Slot(_, slot, _) => {
                let slots = &mut all.last_mut().expect("its account").1;
                if slots.len() < 6 {
                    slots.push(format!("{slot:#x}"));
                }
            }
            Entry::Code(..) => {}
        }
        Ok(())
    };
    read(snapshot, file, 1, &Cancel::new(), |_| (), &mut take).expect("a snapshot");
    assert!(all.len() > 5, "{} accounts", all.len());
    all
}
