//! What a header import notices: one bit of each field of a real proof-of-work header, which
//! nothing follows that could notice it by its hash.
//!
//! With seals on, every field is under the seal. The table of `docs/results/other-commands.md`
//! compares these verdicts with those of the peers.

use blockmill_archive::{Archive, Chunk, ChunkLimit, Format, Packed, Want, WriteOptions};
use blockmill_ethereum::commit::Sink;
use blockmill_ethereum::ethash::Caches;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::import::{Options, import};
use blockmill_ethereum::params::ChainSpec;
use blockmill_ethereum::seal::{SealMode, SealPolicy};
use blockmill_ethereum::settings::Settings;
use blockmill_ethereum::{Level, U256};
use blockmill_rlp::Encode;
use std::sync::Arc;

/// Flips one bit of a field.
type Flip = fn(&mut Header);

const FIELDS: [(&str, Flip); 15] = [
    ("parent hash", |h| h.parent_hash[31] ^= 1),
    ("ommers hash", |h| h.ommers_hash[31] ^= 1),
    ("beneficiary", |h| h.beneficiary[19] ^= 1),
    ("state root", |h| h.state_root[31] ^= 1),
    ("transactions root", |h| h.transactions_root[31] ^= 1),
    ("receipts root", |h| h.receipts_root[31] ^= 1),
    ("logs bloom", |h| h.logs_bloom[255] ^= 1),
    ("difficulty", |h| h.difficulty ^= U256::ONE),
    ("number", |h| h.number ^= 1),
    ("gas limit", |h| h.gas_limit ^= 1),
    ("gas used", |h| h.gas_used ^= 1),
    ("timestamp", |h| h.timestamp ^= 1),
    ("extra data", |h| h.extra_data[0] ^= 1),
    ("mix hash", |h| h.mix_hash[31] ^= 1),
    ("nonce", |h| h.nonce[7] ^= 1),
];

/// The last two headers of the second mainnet era.
fn last_two() -> [Vec<u8>; 2] {
    let file = blockmill_testkit::fixture("ethereum/era1/mainnet-00001-a5364e9a.era1");
    let archive = Archive::open(&[file]).unwrap();
    let limit = ChunkLimit::default();
    let mut reader = archive.reader(Want::default(), limit, 16_382..=16_383).unwrap();
    let (mut packed, mut chunk) = (Packed::new(), Chunk::new());
    let mut headers = vec![];
    while reader.read(&mut packed).unwrap() {
        packed.unpack(&mut chunk).unwrap();
        headers.extend(chunk.headers.iter().map(<[u8]>::to_vec));
    }
    headers.try_into().unwrap()
}

/// What an import of `headers` says: none when they are accepted, else the broken rule.
fn verdict(headers: [&[u8]; 2], seal: SealMode, caches: &Arc<Caches>) -> Option<String> {
    verdict_at(Level::Headers, headers, seal, caches)
}

fn verdict_at(
    level: Level,
    headers: [&[u8]; 2],
    seal: SealMode,
    caches: &Arc<Caches>,
) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("headers.rlp");
    let options = WriteOptions::default();
    let mut writer =
        blockmill_archive::ArchiveWriter::create(Format::HeaderStream, &path, &options).unwrap();
    let mut chunk = Chunk::new();
    headers.iter().for_each(|header| chunk.headers.push(header));
    writer.append(&chunk).unwrap();
    writer.finish().unwrap();
    let options = Options {
        spec: Arc::new(ChainSpec::by_name("mainnet").unwrap()),
        level,
        seal: SealPolicy { mode: seal, seed: 0 },
        settings: Settings::default(),
        threads: 1,
        chunk: ChunkLimit::default(),
        from: None,
        until: None,
        partial: false,
        recheck: true,
        trust: vec![],
        caches: caches.clone(),
        now: None,
        consumer: None,
        cancel: blockmill_pipeline::Cancel::new(),
    };
    let archive = Archive::open(&[path]).unwrap();
    let (run, outcome) = import(&archive, &options, &mut Sink::Discard, |_| {});
    let seals = run.seals_checked + run.seals_left;
    assert_eq!(seals, run.blocks, "one for each block that passed: {outcome:?}");
    outcome.err().map(|error| error.to_string())
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn with_seals_on_a_flipped_bit_in_any_field_is_noticed() {
    let [parent, last] = last_two();
    let caches = Caches::new(None, 1);
    for mode in [SealMode::Off, SealMode::All] {
        assert_eq!(verdict([&parent, &last], mode, &caches), None, "the real header");
    }
    for (field, flip) in FIELDS {
        let mut header = HeaderView::decode(&last).unwrap().to_owned();
        flip(&mut header);
        let flipped = header.encode();
        let without = verdict([&parent, &flipped], SealMode::Off, &caches);
        let with = verdict([&parent, &flipped], SealMode::All, &caches);
        let word = |v: &Option<String>| if v.is_some() { "rejected" } else { "accepted" };
        println!("{field}: {} without seals, {} with seals", word(&without), word(&with));
        let message = with.unwrap_or_else(|| panic!("{field} was accepted with all seals"));
        assert!(message.contains("expected") && message.contains("found"), "{message}");
        let linked = ["parent hash", "number", "difficulty"].contains(&field);
        assert_eq!(without.is_some(), linked, "{field}: {without:?}");
    }
}

#[test]
fn a_level_that_no_rule_reaches_is_refused() {
    let headers = [Header::default().encode(), Header { number: 1, ..Header::default() }.encode()];
    let headers = [&*headers[0], &*headers[1]];
    let refused = verdict_at(Level::Execution, headers, SealMode::Off, &Caches::new(None, 1));
    assert!(refused.unwrap().starts_with("--level execution: "));
}
