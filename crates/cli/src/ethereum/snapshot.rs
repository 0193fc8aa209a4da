//! `convert --to snapshot`: the state of a store in one file; and `check` of such a file.

use super::import::{limits, settings_for};
use super::network;
use super::state::StateReader;
use crate::answer::Answer;
use crate::args::{Check, Convert, Import};
use crate::check::{Checked, CorruptPart, Watch};
use crate::convert::{self, expect_room};
use crate::library::Contents;
use crate::next::command;
use crate::{data_folder, host, stop};
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::Family;
use blockmill_archive::output::OutputFile;
use blockmill_ethereum::commit::executed_store::ExecutedStore;
use blockmill_ethereum::error::Error;
use blockmill_ethereum::header::{HeaderView, block_hash};
use blockmill_ethereum::params::ChainSpec;
pub use blockmill_ethereum::snapshot::is_snapshot;
use blockmill_ethereum::snapshot::{Counts, Head, SnapshotError, head_of, verify, write};
use blockmill_pipeline::Cancel;
use blockmill_report::counted;
use blockmill_store::ChainStore;
use blockmill_verdict::{FaultReport, Hex, Status, grouped};
use serde_json::json;
use std::fs;
use std::path::Path;

/// `blockmill convert DATA --to snapshot`.
pub fn convert(args: &Convert, json: bool, cancel: &Cancel) -> Result<Answer> {
    let [data] = &args.paths[..] else {
        bail!("--to snapshot: expected one store of executed blocks, found {}", args.paths.len())
    };
    ensure!(
        args.from.is_none(),
        "--to snapshot: expected --until or nothing, found --from: a state is after one block"
    );
    let out = args.out.display();
    stop::leaves(format!("nothing was written to {out}"));
    stop::writes(&args.out, 0);
    let source = StateReader::open(data)?;
    let spec = source.spec(args.chain.as_deref())?;
    let number = args.until.map_or_else(|| source.last(), Ok)?;
    let encoded = source.header(number)?;
    let header =
        HeaderView::decode(&encoded).with_context(|| format!("header of block {number}"))?;
    let chain_id = u64::try_from(spec.chain_id)
        .with_context(|| format!("chain {}: a snapshot has chain ids of 64 bits", spec.chain_id))?;
    let head = Head {
        chain_id,
        genesis: spec.genesis.hash,
        number,
        hash: block_hash(&encoded),
        state_root: *header.state_root,
    };
    let Some(state) = source.state_after(number, &spec, cancel)? else {
        return Ok(Answer::with_status(Status::Interrupted));
    };
    expect_room(args, 0).with_context(|| format!("cannot write {out}"))?;
    let mut file = OutputFile::create(&args.out)?;
    let written = write(&state, &head, &mut file, cancel);
    let Some(written) = written.with_context(|| format!("cannot write {out}"))? else {
        return Ok(Answer::with_status(Status::Interrupted));
    };
    let (expected, found) = (head.state_root, written.state_root);
    if found != expected {
        return Err(Error::StoredState { number, expected, found }.into());
    }
    file.finish(&args.out)?;
    let counts = written.counts;
    if json {
        return Answer::ok().with(json!({
            "out": out.to_string(),
            "block": number,
            "state_root": Hex(&head.state_root).to_string(),
            "codes": counts.codes,
            "accounts": counts.accounts,
            "slots": counts.slots,
            "bytes": written.bytes,
        }));
    }
    let shown = convert::Written {
        what: amounts(&counts),
        facts: vec![
            ("state root", format!("{} after block {}", Hex(&head.state_root), grouped(number))),
            ("size", blockmill_report::bytes(written.bytes)),
        ],
        checked: "the state root",
        unchecked: "",
        next: Some(command(&["check"], std::slice::from_ref(&args.out))),
    };
    shown.show(args, &Answer::ok());
    Ok(Answer::ok())
}

/// `blockmill import SNAPSHOT`: the state after the last block of a store of blocks.
pub fn import(args: &Import, path: &Path, json: bool, cancel: &Cancel) -> Result<Answer> {
    let (data, asked) = (&args.data, &args.verification);
    let others = [asked.record.is_some(), asked.level.is_some(), asked.serve.is_some()];
    ensure!(
        others == [false; 3] && asked.from.is_none() && asked.until.is_none(),
        "import of a snapshot: expected --data, --threads, --unwind-depth, --with and --cache \
         only, found others"
    );
    data_folder::expect(data, Family::Ethereum)?;
    ensure!(
        ChainStore::is_in(data)?,
        "--data {}: expected a store of blocks that ends with the snapshot's, found none",
        data.display()
    );
    let threads = asked.threads.unwrap_or_else(host::cores);
    let (blocks, _) = ChainStore::open_read_only(data)?;
    let settings = settings_for(&asked.with, &blocks)?;
    match head_of(path) {
        Ok(head) => expect_chain(&blocks, &head)?,
        Err(error) => return refused(error),
    }
    drop(blocks);
    let limits = limits(args, &settings, threads);
    let (store, _) = ExecutedStore::open(data, &blockmill_store::Options::default(), limits)
        .with_context(|| format!("cannot open the store {}", data.display()))?;
    let size = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let watch = Watch::new("import", size.len(), cancel);
    let kind = store.kind().name();
    let adopted = store.adopt(path, threads, cancel, |bytes| {
        watch.read(bytes);
    });
    let found = match adopted {
        Ok(found) => found,
        Err(error) => return refused(error),
    };
    let (head, counts) = (found.head, found.counts);
    if json {
        return Answer::ok().with(json!({
            "data": data.display().to_string(),
            "block": head.number,
            "state": kind,
            "state_root": Hex(&head.state_root).to_string(),
            "codes": counts.codes,
            "accounts": counts.accounts,
            "slots": counts.slots,
        }));
    }
    println!("store          {}, state={kind}", data.display());
    println!("state          after block {}: {}", grouped(head.number), amounts(&counts));
    println!("state root     {}, as the block's header has it", Hex(&head.state_root));
    println!("`blockmill import` of the blocks after it continues from there");
    Ok(Answer::ok())
}

/// Refuses a snapshot of a chain with another number than that of the store.
fn expect_chain(store: &ChainStore, head: &Head) -> Result<()> {
    let Some(found) = network::of_store(store)? else { return Ok(()) };
    let (expected, found) = (found.spec.chain_id, head.chain_id);
    ensure!(
        expected == found || store.tip().is_none_or(|tip| tip.chain != head.genesis),
        "expected a snapshot of chain {expected}, as the store has it, found one of chain {found}"
    );
    Ok(())
}

/// The answer where a snapshot is not read to its end.
pub(super) fn refused(error: SnapshotError) -> Result<Answer> {
    if let SnapshotError::Corrupt { path, offset, .. } = &error {
        let (file, offset) = (Some(path.clone()), Some(*offset));
        let report = FaultReport { file, offset, ..FaultReport::new(error.to_string()) };
        return Ok(Answer { error: Some(report), ..Answer::with_status(Status::Corrupt) });
    }
    if let SnapshotError::Dump { path, .. } = &error {
        let report =
            FaultReport { file: Some(path.clone()), ..FaultReport::new(error.to_string()) };
        return Ok(Answer { error: Some(report), ..Answer::with_status(Status::Corrupt) });
    }
    match error {
        SnapshotError::Unreadable(error) => Err(error.into()),
        SnapshotError::Stopped => Ok(Answer::with_status(Status::Interrupted)),
        SnapshotError::Receiver(error) => Err((*error).into()),
        error => Err(error.into()),
    }
}

/// `blockmill inspect SNAPSHOT`: prints its head; on request, reads and verifies all of it.
pub fn inspect(path: &Path, deep: bool, json: bool) -> Result<Answer> {
    let head = match head_of(path) {
        Ok(head) => head,
        Err(error) => return refused(error),
    };
    let size = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    let found = match deep.then(|| verify(path, host::cores(), &Cancel::new(), |_| ())) {
        Some(Err(error)) => return refused(error),
        Some(Ok(found)) => Some(found.counts),
        None => None,
    };
    let chain = ChainSpec::by_genesis_hash(&head.genesis).map(|spec| spec.name);
    let (hash, root) = (Hex(&head.hash), Hex(&head.state_root));
    if json {
        let document = json!({
            "format": "snapshot",
            "chain": chain,
            "chain_id": head.chain_id,
            "genesis": Hex(&head.genesis).to_string(),
            "block": head.number,
            "hash": hash.to_string(),
            "state_root": root.to_string(),
            "bytes": size,
            "codes": found.map(|it| it.codes),
            "accounts": found.map(|it| it.accounts),
            "slots": found.map(|it| it.slots),
        });
        return Ok(Answer::ok().with_contents(Contents::Store(document)));
    }
    let chain = chain.unwrap_or_else(|| format!("genesis {}", Hex(&head.genesis)));
    println!("format         flat snapshot, {}", blockmill_report::bytes(size));
    println!("network        {chain}, chain {}", head.chain_id);
    println!("state          after block {} {hash}", grouped(head.number));
    match found {
        Some(counts) => println!("state root     {root}, computed from {}", amounts(&counts)),
        None => println!("state root     {root}, as it says; --deep computes it"),
    }
    Ok(Answer::ok())
}

/// How much there is, in words.
pub(super) fn amounts(counts: &Counts) -> String {
    let Counts { codes, accounts, slots } = *counts;
    let (accounts, slots) = (counted(accounts, "account"), counted(slots, "slot"));
    format!("{accounts}, {slots}, {}", counted(codes, "code"))
}

/// `blockmill check SNAPSHOT`.
pub fn check<'a>(
    args: &Check,
    threads: usize,
    watch: impl Fn(u64) -> Watch<'a>,
) -> Result<Checked> {
    let path = &args.data;
    ensure!(!args.repair, "--repair: expected the folder of a store, found a snapshot");
    let mut checked =
        Checked { family: Some("ethereum"), data: path.clone(), ..Checked::default() };
    let size = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let watch = watch(size.len());
    let found = verify(path, threads, watch.cancel(), |bytes| {
        watch.read(bytes);
    });
    let found = match found {
        Ok(found) => found,
        Err(SnapshotError::Stopped) => {
            checked.stopped = true;
            return Ok(checked);
        }
        Err(SnapshotError::Corrupt { offset, account, expected, found, .. }) => {
            let repair = "make it again: `blockmill convert DATA --to snapshot`";
            let of = account.map(|address| format!("account {}: ", Hex(&address)));
            checked.corruption.push(CorruptPart {
                file: Some(path.clone()),
                offset: Some(offset),
                what: format!("{}expected {expected}, found {found}", of.unwrap_or_default()),
                repair: repair.into(),
                ..CorruptPart::default()
            });
            checked.repair = Some(repair.into());
            return Ok(checked);
        }
        Err(error) => return Err(error.into()),
    };
    let (head, counts) = (found.head, found.counts);
    let spec = ChainSpec::by_genesis_hash(&head.genesis);
    let name = spec.map_or_else(|| "a chain of its own".to_string(), |spec| spec.name);
    checked.holds = vec![
        format!("Ethereum, {name}, chain {}", head.chain_id),
        format!("the state after block {} {}", grouped(head.number), Hex(&head.hash)),
        amounts(&counts),
        format!("state root {}, computed from all of it", Hex(&head.state_root)),
    ];
    (checked.chain, checked.tip) = (Some(name), Some(head.number));
    Ok(checked)
}
