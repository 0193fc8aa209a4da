//! State dumps of clients: `import --state`, and `convert --to state-jsonl`.

use super::import::{IMPORT_SEAL, Job, limits, settings_for};
use super::snapshot::{amounts, refused};
use super::state::StateReader;
use crate::answer::Answer;
use crate::args::{Convert, Import, Verification};
use crate::check::Watch;
use crate::convert::expect_room;
use crate::import::Run;
use crate::{data_folder, host, stop};
use anyhow::{Context, Result, bail, ensure};
use blockmill_archive::output::OutputFile;
use blockmill_archive::{Archive, Chunk, ChunkLimit, Family, Packed, Want};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::commit::executed_store::ExecutedStore;
use blockmill_ethereum::header::HeaderView;
use blockmill_ethereum::state_dump::{Dumped, StateDump};
use blockmill_ethereum::{Hash, Level};
use blockmill_pipeline::Cancel;
use blockmill_report::counted;
use blockmill_store::{ChainStore, Options};
use blockmill_verdict::{Hex, Status, grouped};
use serde_json::json;
use std::fs;
use std::path::Path;

/// `blockmill import --state DUMP`: the state after the last block of a store of blocks.
pub fn import(args: &Import, dump: &Path, json: bool, cancel: Cancel) -> Result<Answer> {
    let (data, asked) = (&args.data, &args.verification);
    let others = [asked.record.is_some(), asked.level.is_some(), asked.serve.is_some()];
    ensure!(
        others == [false; 3],
        "import of a state: expected --data, --block, --from, --until, --chain, --seal, \
         --threads, --unwind-depth, --with and --cache only, found others"
    );
    let chooses = asked.from.is_some() || asked.until.is_some();
    ensure!(!chooses || !args.block.is_empty(), "--from and --until of a state: add --block");
    data_folder::expect(data, Family::Ethereum)?;
    let is_there = ChainStore::is_in(data)?;
    ensure!(
        is_there || !args.block.is_empty(),
        "--data {}: expected a store of blocks that ends with the dump's, or --block, found none",
        data.display()
    );
    // before a store is created for nothing
    let size = fs::metadata(dump).with_context(|| format!("cannot read {}", dump.display()))?;
    let opened = StateDump::open(dump, &std::env::temp_dir());
    let root = match opened {
        Ok(opened) => *opened.root(),
        Err(error) => return refused(error),
    };
    if let Some(ended) = store_blocks(args, &root, json, &cancel)? {
        return Ok(ended);
    }
    let (blocks, _) = ChainStore::open_read_only(data)?;
    let (settings, first) = (settings_for(&asked.with, &blocks)?, blocks.first());
    drop(blocks);
    let limits = limits(args, &settings, asked.threads.unwrap_or_else(host::cores));
    let (store, _) = ExecutedStore::open(data, &Options::default(), limits)
        .with_context(|| format!("cannot open the store {}", data.display()))?;
    let kind = store.kind().name();
    let watch = Watch::new("import", size.len(), &cancel);
    let dump = StateDump::open(dump, data);
    let adopted = dump.and_then(|dump| {
        store.adopt_dump(dump, &cancel, |bytes| {
            watch.read(bytes);
        })
    });
    match adopted {
        Ok((number, found)) => report(args, (first, number), kind, &found, json),
        Err(error) => refused(error),
    }
}

/// Stores the blocks of `--block` at level `bodies`, the last one that of the dump. Returns the
/// answer of a run that did not reach its end.
fn store_blocks(args: &Import, root: &Hash, json: bool, cancel: &Cancel) -> Result<Option<Answer>> {
    if args.block.is_empty() {
        return Ok(None);
    }
    let (paths, level) = (args.block.clone(), Some(Level::Bodies));
    let asked = Verification { paths, level, ..args.verification.clone() };
    let asked = Verification { until: Some(block_of(&asked, root)?), ..asked };
    let run = Run::new(&asked, "import", None, json, cancel.clone())?;
    let (store, _) = ChainStore::open(&args.data, &Options::default())
        .with_context(|| format!("cannot open the store {}", args.data.display()))?;
    // a store with a state is refused later
    if store.tip().is_some_and(|tip| tip.level == Level::Execution as u8) {
        return Ok(None);
    }
    let settings = settings_for(&asked.with, &store)?;
    let job = Job::prepare(&asked, settings, Some(&store), IMPORT_SEAL, cancel.clone())?;
    job.keep_chain(&store)?;
    let mut sink = Sink::Segments(Box::new(store));
    let (done, outcome) = job.engine(&mut sink, &run)?;
    match outcome.is_ok() && !cancel.is_cancelled() {
        true => Ok(None),
        false => job.end(&done, &outcome, None, run).map(Some),
    }
}

/// The number of the first block of an archive, from `--from` to `--until`, with this state root.
fn block_of(asked: &Verification, root: &Hash) -> Result<u64> {
    let archive = Archive::open(&asked.paths)?;
    let named = asked.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let named = named.join(", ");
    ensure!(
        archive.has_bodies(),
        "--block {named}: expected blocks with their bodies, which the store keeps, found headers"
    );
    let range = asked.from.unwrap_or(0)..=asked.until.unwrap_or(u64::MAX);
    let mut reader = archive.reader(Want::default(), ChunkLimit::default(), range)?;
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    let mut last = None;
    while reader.read(&mut packed)? {
        packed.unpack(&mut chunk)?;
        for at in 0..chunk.blocks() {
            let header = HeaderView::decode(chunk.headers.get(at));
            let header = header.with_context(|| format!("a header of --block {named}"))?;
            if header.state_root == root {
                return Ok(header.number);
            }
            last = Some((header.number, *header.state_root));
        }
    }
    let found = match last {
        Some((number, root)) => format!("none up to block {number}, which has {}", Hex(&root)),
        None => "no block".into(),
    };
    bail!(
        "--block {named}: expected a block with the dump's state root {}, found {found}",
        Hex(root)
    )
}

/// Says what was adopted, and what that does not verify.
fn report(
    args: &Import,
    (first, number): (Option<u64>, u64),
    kind: &str,
    found: &Dumped,
    json: bool,
) -> Result<Answer> {
    let Dumped { root, counts, without_address, .. } = found;
    let data = args.data.display();
    let last = grouped(number);
    let unverified =
        format!("blocks 0 to {last} were not executed; the state has the root of block {last}");
    let mut notes = vec![unverified];
    if *without_address > 0 {
        notes.push(format!(
            "{} accounts have no address in the dump: no tables by address, no snapshot",
            grouped(*without_address)
        ));
    }
    let answer = Answer { notes, ..Answer::ok() };
    if json {
        return answer.with(json!({
            "data": data.to_string(),
            "first_block": first,
            "block": number,
            "state": kind,
            "state_root": Hex(root).to_string(),
            "codes": counts.codes,
            "accounts": counts.accounts,
            "slots": counts.slots,
            "without_address": without_address,
        }));
    }
    println!("store          {data}, state={kind}");
    println!("state          after block {}: {}", grouped(number), amounts(counts));
    println!("state root     {}, as the block's header has it", Hex(root));
    answer.notes.iter().for_each(|note| println!("note: {note}"));
    println!("`blockmill import` of the blocks after it continues from there");
    Ok(answer)
}

/// `blockmill convert DATA --to state-jsonl`.
pub fn convert(args: &Convert, json: bool, cancel: &Cancel) -> Result<Answer> {
    let [data] = &args.paths[..] else {
        let found = args.paths.len();
        bail!("--to state-jsonl: expected one store of executed blocks, found {found}")
    };
    ensure!(
        args.from.is_none(),
        "--to state-jsonl: expected --until or nothing, found --from: a state is after one block"
    );
    let out = args.out.display();
    stop::leaves(format!("nothing was written to {out}"));
    stop::writes(&args.out, 0);
    let source = StateReader::open(data)?;
    let number = args.until.map_or_else(|| source.last(), Ok)?;
    expect_room(args, 0).with_context(|| format!("cannot write {out}"))?;
    let mut file = OutputFile::create(&args.out)?;
    let written = source.dump_after(number, &mut file, cancel);
    let written = written.with_context(|| format!("cannot write {out}"))?;
    let Some((written, names)) = written else {
        return Ok(Answer::with_status(Status::Interrupted));
    };
    file.finish(&args.out)?;
    let (root, counts) = (Hex(&written.state_root), written.counts);
    let notes = match names {
        true => vec![],
        false => vec!["addresses and slots are hashed; reth init-state needs addresses".into()],
    };
    let answer = Answer { notes, ..Answer::ok() };
    if json {
        return answer.with(json!({
            "out": out.to_string(),
            "block": number,
            "state_root": root.to_string(),
            "accounts": counts.accounts,
            "slots": counts.slots,
            "bytes": written.bytes,
            "hashed": !names,
        }));
    }
    let (accounts, slots) = (counted(counts.accounts, "account"), counted(counts.slots, "slot"));
    let shown = crate::convert::Written {
        what: format!("{accounts} and {slots}"),
        facts: vec![
            ("state root", format!("{root} after block {}", grouped(number))),
            ("size", blockmill_report::bytes(written.bytes)),
        ],
        checked: "the state root",
        unchecked: "",
        next: Some(format!("reth init-state {out} loads it into an empty node")),
    };
    shown.show(args, &answer);
    Ok(answer)
}
