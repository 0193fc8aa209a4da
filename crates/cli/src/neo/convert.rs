//! `convert` to a dump, from dumps or a store of Neo blocks.

use super::network::{by_first_block, by_genesis, configuration_next_to};
use crate::answer::Answer;
use crate::args::Convert;
use crate::convert::{expect_room, status, verify, written};
use crate::data_folder;
use crate::stop;
use anyhow::{Context, Error, Result, bail, ensure};
use blockmill_archive::acc::{self, Batch, DumpWriter, Dumps, Head, Reader};
use blockmill_archive::{ChunkLimit, Family};
use blockmill_neo::import::DumpComparison;
use blockmill_neo::types::UInt256;
use blockmill_pipeline::Cancel;
use blockmill_store::ChainStore;
use blockmill_verdict::{FaultReport, Shortfall, Status};

/// The input.
enum Input {
    Dumps(Dumps),
    Store(Box<ChainStore>),
}

/// The result of a copy.
enum Copied {
    /// All requested blocks were copied. The shortfall concerns a dump with repeated blocks.
    Whole(Option<Shortfall>),
    Stopped,
    /// The dumps lack this block and later ones.
    Lacks(u32, Shortfall),
}

/// `blockmill convert --to acc`. The output is an incremental dump if it does not begin with the
/// genesis block, or with `--from`.
pub fn run(args: &Convert, gzip: bool, json: bool, cancel: Cancel) -> Result<Answer> {
    let source = Input::open(args)?;
    let (mut first, mut last) = source.range()?;
    if let Some(from) = args.from {
        first = first.max(u32::try_from(from).unwrap_or(u32::MAX));
    }
    if let Some(until) = args.until {
        last = last.min(u32::try_from(until).unwrap_or(u32::MAX));
    }
    let beyond = Shortfall::after_last(args.until, last.into());
    ensure!(first <= last, "the requested range has no block");
    source.expect_whole(first)?;
    let incremental = args.from.is_some() || first > 0;
    let next = source.next(args, first)?;
    let out = args.out.display();
    stop::leaves(format!("nothing was written to {out}"));
    stop::writes(&args.out, source.bytes());
    let room = expect_room(args, u64::from(last - first + 1) * args.to.least_block);
    room.with_context(|| format!("cannot write {out}"))?;

    let head = |last: u32| Head { first, count: last - first + 1, incremental };
    let (mut shortfalls, notes) = source.left_out(args.until.is_some());
    let mut copied = source.copy(args, head(last), gzip, &cancel)?;
    if let Copied::Lacks(missing, shortfall) = copied {
        shortfalls.push(shortfall);
        if !args.partial || missing <= first {
            let message = format!("nothing was written: the dumps lack block {missing}");
            let error = Some(FaultReport::new(message));
            return Ok(Answer { error, shortfalls, ..Answer::with_status(Status::Incomplete) });
        }
        last = missing - 1;
        // the number of blocks is in the header, so start again
        copied = source.copy(args, head(last), gzip, &cancel)?;
    }
    shortfalls.extend(beyond);
    match copied {
        Copied::Stopped => return Ok(Answer::with_status(Status::Interrupted)),
        Copied::Whole(shortfall) => shortfalls.extend(shortfall),
        Copied::Lacks(missing, _) => bail!("the dumps changed: block {missing} is no longer there"),
    }
    let answer = Answer { shortfalls, notes, ..Answer::ok() };
    let answer = Answer { status: status(&answer.shortfalls, args.partial), ..answer };
    let checks = ("heights", "the rules of the chain");
    written(args, answer, (first.into(), last.into()), checks, next, json)
}

impl Input {
    fn open(args: &Convert) -> Result<Self> {
        let is_store = |path| Ok::<_, Error>(data_folder::family_of(path)? == Some(Family::Neo));
        match &args.paths[..] {
            [path] if is_store(path)? => {
                Ok(Self::Store(Box::new(ChainStore::open_read_only(path)?.0)))
            }
            paths => Ok(Self::Dumps(acc::open(paths)?)),
        }
    }

    /// The command that verifies the output, with the configuration that it needs. `None` for a
    /// dump from the middle of the chain: block 0 names the first signers.
    fn next(&self, args: &Convert, first: u32) -> Result<Option<String>> {
        if first > 0 {
            return Ok(None);
        }
        let (file, is_built_in) = match self {
            Self::Dumps(dumps) => (configuration_next_to(dumps)?, by_first_block(dumps).is_some()),
            Self::Store(store) => {
                let genesis = store.tip().map(|tip| UInt256(tip.chain));
                (None, genesis.and_then(by_genesis).is_some())
            }
        };
        let unknown = (!is_built_in).then(|| "protocol.yml".to_owned());
        let file = file.map(|file| file.display().to_string());
        let chain = args.chain.clone().or(file).or(unknown);
        Ok(Some(verify(args, chain.as_deref())))
    }

    /// Heights of the first and of the last block.
    fn range(&self) -> Result<(u32, u32)> {
        match self {
            Self::Dumps(dumps) => dumps.range().context("the dumps have no block"),
            Self::Store(store) => {
                let range = store.first().zip(store.tip()).context("the store has no block")?;
                Ok((u32::try_from(range.0)?, u32::try_from(range.1.number)?))
            }
        }
    }

    /// Checks that block `first` was not removed.
    fn expect_whole(&self, first: u32) -> Result<()> {
        let Self::Store(store) = self else { return Ok(()) };
        let left = store.first_whole().unwrap_or(0);
        let body = store.body(first.into());
        body.map(drop).with_context(|| format!("--from {left} converts the blocks that are left"))
    }

    /// The effect of unread files on the conversion.
    fn left_out(&self, all: bool) -> (Vec<Shortfall>, Vec<String>) {
        match self {
            Self::Dumps(dumps) => dumps.left_out().judge(all),
            Self::Store(_) => (vec![], vec![]),
        }
    }

    /// Approximate size of the output in bytes.
    fn bytes(&self) -> u64 {
        match self {
            Self::Dumps(dumps) => dumps.disk_bytes(),
            Self::Store(_) => 0,
        }
    }

    /// Writes the blocks of `head`.
    fn copy(&self, args: &Convert, head: Head, gzip: bool, cancel: &Cancel) -> Result<Copied> {
        let mut writer = DumpWriter::create(&args.out, head, gzip)?;
        cancel.live().count("convert", "blocks", head.count.into());
        let copied = match self {
            Self::Dumps(dumps) => from_dumps(dumps, head, &mut writer, cancel)?,
            Self::Store(store) => from_store(store, head, &mut writer, cancel)?,
        };
        if let Copied::Whole(_) = copied {
            writer.finish()?;
        }
        Ok(copied)
    }
}

fn from_dumps(
    dumps: &Dumps,
    head: Head,
    writer: &mut DumpWriter,
    cancel: &Cancel,
) -> Result<Copied> {
    let reader = Reader::new(dumps, head.first, ChunkLimit::default());
    let mut reader = reader.until(Some(head.last()));
    let mut compared = DumpComparison::new(dumps, head.first);
    let mut batch = Batch::default();
    let mut next = head.first;
    loop {
        let more = match reader.read(&mut batch) {
            Ok(more) => more,
            Err(error) if error.status() == Status::Incomplete => {
                let shortfall = (&error).into();
                return Ok(match next > head.last() {
                    true => Copied::Whole(Some(shortfall)),
                    false => Copied::Lacks(next, shortfall),
                });
            }
            Err(error) => return Err(error.into()),
        };
        compared.add(&batch)?;
        if !more && next > head.last() {
            return Ok(Copied::Whole(None));
        }
        ensure!(more, "the dumps end before block {next}");
        if !batch.is_repeated() {
            for at in 0..batch.len() {
                writer.append(batch.block(at))?;
            }
            next = batch.first() + batch.len() as u32;
            cancel.live().advance(batch.len() as u64);
        }
        if cancel.is_cancelled() {
            return Ok(Copied::Stopped);
        }
    }
}

fn from_store(
    store: &ChainStore,
    head: Head,
    writer: &mut DumpWriter,
    cancel: &Cancel,
) -> Result<Copied> {
    for height in head.first..=head.last() {
        let parts = store.header(height.into())?.zip(store.body(height.into())?);
        let (mut block, body) = parts.with_context(|| {
            format!("the store has no body of block {height}: it was imported at level headers")
        })?;
        block.extend_from_slice(&body);
        writer.append(&block)?;
        cancel.live().advance(1);
        if cancel.is_cancelled() {
            return Ok(Copied::Stopped);
        }
    }
    Ok(Copied::Whole(None))
}
