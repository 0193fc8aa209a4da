//! Files that lack blocks: whatever is deleted, cut or changed, a run that says "verified" has all
//! blocks of the chain, and what is missing is named with its place.

use crate::generated_chain::Maker;
use crate::generated_headers::Random;
use crate::imports::{options, run, write};
use blockmill_archive::blkdat::{Network, XorKey, open};
use blockmill_bitcoin::import::{Options, Run};
use blockmill_bitcoin::params::Params;
use blockmill_bitcoin::{Error, Level, export, record};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::record::Program;
use blockmill_verdict::{Shortfall, ShortfallKind, Status};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Blocks after the genesis block.
const BLOCKS: u32 = 40;

/// A chain, and its records one after the other.
struct Chain {
    blocks: Vec<Vec<u8>>,
    records: Vec<Vec<u8>>,
}

impl Chain {
    fn new() -> Self {
        let blocks = Maker::of(&Params::regtest(), 11, BLOCKS).blocks;
        let records = blocks.iter().map(|block| framed(block, block.len())).collect();
        Self { blocks, records }
    }

    fn bytes(&self) -> Vec<u8> {
        self.records.concat()
    }

    /// Where record `i` begins.
    fn start(&self, i: usize) -> usize {
        self.records[..i].iter().map(Vec::len).sum()
    }
}

fn framed(block: &[u8], stated: usize) -> Vec<u8> {
    let magic = Params::regtest().magic;
    [&magic[..], &(stated as u32).to_le_bytes(), block].concat()
}

/// How a run over one file ends.
fn outcome_of(bytes: &[u8], level: Level) -> (Run, Status) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.dat");
    fs::write(&path, bytes).unwrap();
    let options = Options { level, ..options(Params::regtest()) };
    outcome(&path, &options)
}

fn outcome(path: &Path, options: &Options) -> (Run, Status) {
    let data = tempfile::tempdir().unwrap();
    outcome_in(path, options, data.path())
}

fn outcome_in(path: &Path, options: &Options, data: &Path) -> (Run, Status) {
    let (run, outcome) = run(path, options, data);
    let network = Network::from_magic(options.params.magic);
    let files = open(&[path.to_path_buf()], network).unwrap();
    let record = record::of(&run, &outcome, &files, options, Program::default(), "test");
    assert_eq!(record.result.shortfalls, run.shortfalls);
    (run, record.result.status)
}

fn height(run: &Run) -> u32 {
    run.tip.unwrap().height
}

fn of_kind(run: &Run, kind: ShortfallKind) -> Vec<&Shortfall> {
    run.shortfalls.iter().filter(|shortfall| shortfall.kind == kind).collect()
}

#[test]
fn a_missing_file_in_the_middle_is_incomplete_at_every_level() {
    let chain = Chain::new();
    let folder = tempfile::tempdir().unwrap();
    let total: usize = chain.records.iter().map(Vec::len).sum();
    let places = write(folder.path(), &Params::regtest(), &chain.blocks, total as u64 / 3, true);
    let first_of = |name: &str| places.iter().position(|(file, _)| file == name).unwrap();
    let (gap, behind) = (first_of("blk00001.dat"), first_of("blk00002.dat"));
    assert_eq!(outcome(folder.path(), &options(Params::regtest())).1, Status::Verified);
    fs::remove_file(folder.path().join("blk00001.dat")).unwrap();
    for level in [Level::Headers, Level::Bodies, Level::Execution] {
        let options = Options { level, ..options(Params::regtest()) };
        let (run, status) = outcome(folder.path(), &options);
        assert_eq!(status, Status::Incomplete, "{level:?}");
        assert_eq!(height(&run) as usize, gap - 1, "{level:?}");
        // headers that follow nothing are not counted either
        assert_eq!((run.blocks as usize, run.range), (gap - 1, Some((1, gap as u32 - 1))));
        let [unconnected] = of_kind(&run, ShortfallKind::Unconnected)[..] else {
            panic!("{run:?}")
        };
        assert_eq!(unconnected.blocks, Some((chain.blocks.len() - behind) as u64));
        assert_eq!(unconnected.offset, Some(places[behind].1));
        assert!(unconnected.file.as_ref().unwrap().ends_with("blk00002.dat"));
        let [hole] = of_kind(&run, ShortfallKind::MissingBlocks)[..] else { panic!("{run:?}") };
        assert!(hole.text.contains("blk00001.dat is not in "), "{hole}");
        let partial = Options { partial: true, ..options.clone() };
        assert_eq!(outcome(folder.path(), &partial).1, Status::Partial);
        // who asks for no more than is there gets it
        let until = Options { until: Some(gap as u32 - 2), ..options.clone() };
        assert_eq!(outcome(folder.path(), &until).1, Status::Verified);
        let beyond = Options { until: Some(1_000), ..options };
        assert_eq!(outcome(folder.path(), &beyond).1, Status::Incomplete);
    }
}

#[test]
fn a_deleted_record_is_noticed_wherever_others_follow_it() {
    let chain = Chain::new();
    for deleted in 2..chain.records.len() {
        let mut records = chain.records.clone();
        records.remove(deleted);
        for level in [Level::Headers, Level::Bodies] {
            let (run, status) = outcome_of(&records.concat(), level);
            // a chain without its last block is a shorter chain
            let last = deleted == chain.records.len() - 1;
            let expected = if last { Status::Verified } else { Status::Incomplete };
            assert_eq!((status, height(&run) as usize), (expected, deleted - 1), "{deleted}");
        }
    }
}

#[test]
fn a_file_that_is_cut_within_a_record_is_incomplete() {
    let (chain, mut random) = (Chain::new(), Random::new(1));
    let bytes = chain.bytes();
    for case in 0..60 {
        let record = 2 + random.below(chain.records.len() - 2);
        let start = chain.start(record);
        let length = chain.records[record].len();
        // within magic and size, the header, the body
        let into = [1 + random.below(7), 8 + random.below(80), 88 + random.below(length - 88)];
        let cut = start + into[case % 3];
        let (run, status) = outcome_of(&bytes[..cut], Level::Bodies);
        assert_eq!((status, height(&run) as usize), (Status::Incomplete, record - 1), "{cut}");
        let [found] = of_kind(&run, ShortfallKind::Cut)[..] else { panic!("{cut}: {run:?}") };
        assert_eq!(found.offset, Some(start as u64));
    }
}

#[test]
fn an_unrecognisable_last_record_is_reported() {
    let chain = Chain::new();
    let start = chain.start(BLOCKS as usize);
    for (from, to) in [(0, 4), (0, 100), (0, 8), (4, 100)] {
        let mut bytes = chain.bytes();
        bytes[start + from..start + to].fill(0xee);
        let (run, status) = outcome_of(&bytes, Level::Execution);
        assert_eq!(height(&run), BLOCKS - 1, "{from}..{to}");
        assert_eq!(status, Status::Incomplete, "{from}..{to}: {run:?}");
        assert_eq!(run.shortfalls[0].offset, Some(start as u64), "{from}..{to}");
    }
}

#[test]
fn any_wrong_size_is_reported_and_loses_no_block() {
    let (chain, mut random) = (Chain::new(), Random::new(2));
    for case in 0..120 {
        let record = 1 + random.below(BLOCKS as usize);
        let start = chain.start(record);
        let own = chain.blocks[record].len();
        // to the end of a later record, as far off as can be, or a little
        let later = record + 1 + random.below(3);
        let stated = match case % 3 {
            0 if later < chain.records.len() => chain.start(later + 1) - start - 8,
            1 => random.next_u64() as usize % 4_000_001,
            _ => own + 1 + random.below(20),
        };
        if stated == own {
            continue;
        }
        let mut bytes = chain.bytes();
        bytes[start + 4..start + 8].copy_from_slice(&(stated as u32).to_le_bytes());
        for level in [Level::Bodies, Level::Execution] {
            let (run, status) = outcome_of(&bytes, level);
            let what = format!("block {record}: {stated} instead of {own}: {run:?}");
            assert_eq!(height(&run), BLOCKS, "{what}");
            assert!(matches!(status, Status::Verified | Status::Corrupt), "{what}");
            // a note where a reindex of Bitcoin Core loses nothing
            let message = match status {
                Status::Corrupt => {
                    format!("expected {own} bytes, the length of its block, found {stated}")
                }
                _ => format!("expected a block of {stated} bytes, found one of {own} bytes"),
            };
            let is_reported = record::places(&run).iter().any(|text| text.contains(&message));
            let error = run.corruption_of_files().is_some_and(|it| it.message.contains(&message));
            assert!(is_reported || error, "{what}");
        }
        // without bodies a block that was stepped over may be missed, but not silently
        let (run, status) = outcome_of(&bytes, Level::Headers);
        assert!(height(&run) == BLOCKS || status == Status::Incomplete, "{record}: {stated}");
    }
}

#[test]
fn a_later_run_continues_after_a_block_that_a_wrong_size_hid() {
    let chain = Chain::new();
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("chain.dat");
    let mut bytes = chain.bytes();
    let start = chain.start(BLOCKS as usize - 1);
    let stated = (bytes.len() - start - 8) as u32;
    bytes[start + 4..start + 8].copy_from_slice(&stated.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let options = options(Params::regtest());
    for _ in 0..2 {
        let (run, status) = outcome_in(&path, &options, data.path());
        assert_eq!((status, height(&run)), (Status::Verified, BLOCKS), "{run:?}");
    }
    // the block is there for others, too
    let files = open(&[path], None).unwrap();
    let out = folder.path().join("out");
    let network = Network::from_magic(options.params.magic).unwrap();
    let writer = blockmill_archive::blkdat::WriterOptions::core(network);
    let copied = export::to_block_files(&files, &options, &out, writer, |_| Ok(()));
    let copied = copied.unwrap().expect("nobody asked to stop");
    assert_eq!((copied.last, copied.run.shortfalls.len()), (BLOCKS, 0));
    assert_eq!(fs::read(out.join("blk00000.dat")).unwrap(), chain.bytes());
}

#[test]
fn a_record_with_trailing_bytes_is_used_and_reported() {
    let chain = Chain::new();
    for level in [Level::Bodies, Level::Execution] {
        let mut records = chain.records.clone();
        let block = [&chain.blocks[7][..], &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
        records[7] = framed(&block, block.len());
        let (run, status) = outcome_of(&records.concat(), level);
        assert_eq!((status, height(&run)), (Status::Verified, BLOCKS), "{run:?}");
        let (stated, own) = (block.len(), block.len() - 8);
        let place = format!("byte {}: ", chain.start(7));
        let message = format!("expected a block of {stated} bytes, found one of {own} bytes");
        let is_reported = |text: &String| text.contains(&place) && text.contains(&message);
        assert!(run.notes.iter().any(is_reported), "{:?}", run.notes);
    }
}

#[test]
fn junk_that_could_be_left_of_a_record_counts_as_one() {
    let chain = Chain::new();
    for (length, expected) in [
        (5, Status::Verified),
        (8, Status::Verified),
        (88, Status::Verified),
        (89, Status::Incomplete),
    ] {
        for at in [5, BLOCKS as usize + 1] {
            let mut records = chain.records.clone();
            records.insert(at, vec![0xee; length]);
            let (run, status) = outcome_of(&records.concat(), Level::Bodies);
            assert_eq!((status, height(&run)), (expected, BLOCKS), "{length} at {at}");
            let messages: Vec<_> = run.shortfalls.iter().map(ToString::to_string).collect();
            let messages = [messages, run.notes].concat().join("\n");
            let expected = format!("found {length} bytes of something else");
            assert!(messages.contains(&expected), "{messages}");
        }
    }
}

#[test]
fn a_piece_of_the_last_block_shows_that_it_is_missing() {
    let chain = Chain::new();
    let last = &chain.records[BLOCKS as usize];
    // with frame and without, as long as the smallest record
    for piece in [&last[..89], &last[8..100]] {
        let before = chain.records[..BLOCKS as usize - 1].concat();
        let behind = &chain.records[BLOCKS as usize - 1];
        let bytes = [&before, piece, behind].concat();
        for level in [Level::Headers, Level::Execution] {
            let (run, status) = outcome_of(&bytes, level);
            let what = format!("{} bytes: {run:?}", piece.len());
            assert_eq!((status, height(&run)), (Status::Incomplete, BLOCKS - 1), "{what}");
            let [found] = of_kind(&run, ShortfallKind::CorruptRecord)[..] else { panic!("{what}") };
            assert_eq!(found.offset, Some(before.len() as u64), "{what}");
        }
    }
}

#[test]
fn half_a_record_loses_nothing_when_another_record_has_the_block() {
    let chain = Chain::new();
    // what an unclean shutdown leaves, and the block downloaded again
    let half = &chain.records[20][..chain.records[20].len() - 30];
    let bytes = [&chain.bytes()[..], half].concat();
    let (run, status) = outcome_of(&bytes, Level::Execution);
    assert_eq!((status, height(&run)), (Status::Verified, BLOCKS), "{run:?}");
    assert!(run.notes.join("\n").contains("another record has block"), "{run:?}");
    // with the only copy it is another matter
    let records = [&chain.records[..20], &chain.records[21..], &[half.to_vec()]].concat();
    assert_eq!(outcome_of(&records.concat(), Level::Execution).1, Status::Incomplete);
}

#[test]
fn a_normal_folder_of_core_is_verified() {
    let params = Params::regtest();
    let mut maker = Maker::of(&params, 3, 30);
    let mut stale = maker.branch(4);
    stale.extend(3);
    maker.extend(30);
    // the bad body of a stale block is never read
    let mut bad = stale.draft();
    bad.wrong_root = true;
    stale.push(bad);
    let mut blocks = [&maker.blocks[..], &stale.blocks[31..], &maker.blocks[5..9]].concat();
    let mut random = Random::new(5);
    for at in (2..blocks.len()).rev() {
        blocks.swap(at, 1 + random.below(at));
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &params, &blocks, 8_000, true);
    let zeros = fs::metadata(folder.path().join("blk00000.dat")).unwrap().len();
    assert!(zeros > 0);
    for level in [Level::Headers, Level::Bodies, Level::Execution] {
        let (run, status) = outcome(folder.path(), &Options { level, ..options(params.clone()) });
        assert_eq!((status, height(&run)), (Status::Verified, 60), "{level:?}: {run:?}");
        assert!(run.shortfalls.is_empty() && run.notes.is_empty(), "{run:?}");
        assert_eq!(run.stale, 4);
    }
}

#[test]
fn every_run_over_corrupt_files_reports_the_corruption() {
    let chain = Chain::new();
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("chain.dat");
    let mut bytes = chain.bytes();
    bytes.truncate(bytes.len() - 10);
    fs::write(&path, bytes).unwrap();
    for _ in 0..3 {
        let (run, status) = outcome_in(&path, &options(Params::regtest()), data.path());
        assert_eq!((status, height(&run)), (Status::Incomplete, BLOCKS - 1));
        assert_eq!(of_kind(&run, ShortfallKind::Cut).len(), 1);
    }
}

/// A file of 10 GB, obfuscated with `key`, of which the disk holds next to nothing.
fn sparse(path: &Path, chain: &Chain, key: XorKey) {
    let length = 10 << 30;
    let file = File::create(path).unwrap();
    file.set_len(length).unwrap();
    let bytes = chain.bytes();
    let (mut first, mut second) = (bytes.clone(), bytes[chain.start(20)..].to_vec());
    first.truncate(chain.start(20));
    let at = length - bytes.len() as u64;
    key.apply(&mut first, 0);
    key.apply(&mut second, at);
    file.write_all_at(&first, 0).unwrap();
    file.write_all_at(&second, at).unwrap();
}

#[test]
fn holes_of_a_sparse_file_are_not_read() {
    let chain = Chain::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chain.dat");
    sparse(&path, &chain, XorKey::default());
    let start = Instant::now();
    let (run, status) = outcome(&path, &options(Params::regtest()));
    assert_eq!((status, height(&run)), (Status::Incomplete, BLOCKS), "{run:?}");
    assert!(of_kind(&run, ShortfallKind::CorruptRecord)[0].text.contains("zeros"), "{run:?}");
    #[cfg(target_os = "linux")]
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(run.counts.bytes_read < 1 << 30, "{}", run.counts.bytes_read);
}

#[test]
fn a_stop_in_the_index_pass_takes_less_than_a_second_and_leaves_nothing() {
    let chain = Chain::new();
    let folder = tempfile::tempdir().unwrap();
    // with this key zeros are magics in disguise, so holes are read: 10 GB are searched
    let params = Params::regtest();
    let [a, b, c, d] = params.magic;
    let key = XorKey([a, b, c, d, 1, 2, 3, 4]);
    sparse(&folder.path().join("blk00000.dat"), &chain, key);
    fs::write(folder.path().join("xor.dat"), key.0).unwrap();
    let cancel = Cancel::new();
    let asked = Options { cancel: cancel.clone(), ..options(params) };
    let user = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        cancel.cancel();
        Instant::now()
    });
    let (run, status) = outcome(folder.path(), &asked);
    let since = user.join().unwrap().elapsed();
    assert!(since < Duration::from_secs(1), "{since:?}");
    assert_eq!((status, run.stopped), (Status::Interrupted, true), "{run:?}");
    assert!(run.tip.is_none_or(|tip| tip.height == 0));
}

#[test]
fn a_pipe_is_read_once_and_whole_and_a_device_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let chain = Chain::new();
    let (bytes, to) = (chain.bytes(), pipe.clone());
    let writer = thread::spawn(move || fs::write(to, bytes).unwrap());
    let options = options(Params::regtest());
    let (run, status) = outcome(&pipe, &options);
    writer.join().unwrap();
    assert_eq!(status, Status::Verified, "{run:?}");
    assert_eq!(run.tip.map(|tip| tip.height), Some(BLOCKS));
    let device = Path::new("/dev/zero");
    let error = open(&[device.to_path_buf()], Some(Network::Regtest)).unwrap_err();
    assert!(error.to_string().contains("a device"), "{error}");
    assert_eq!(Error::Archive(error).status(), Status::Usage);
    assert!(blockmill_archive::blkdat::looks_like(device).is_err());
}
