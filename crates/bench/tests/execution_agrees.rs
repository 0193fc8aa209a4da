//! Generated chains of random programs, executed by go-ethereum and by us: both find the same
//! roots, and of blocks with one field changed both take the same ones.

use blockmill_bench::counting::CountingAllocator;
use blockmill_bench::definition::{Definition, Settings};
use blockmill_bench::job::Job;
use blockmill_bench::peers::{self, Ready};
use blockmill_bench::workloads;
use blockmill_ethereum::U256;
use blockmill_ethereum::header::{Header, HeaderView};
use blockmill_ethereum::params::Fork;
use blockmill_generate::ethereum::executable::{FILE, FORKS, Recipe, Work, generate};
use blockmill_pipeline::record::RunRecord;
use blockmill_rlp::{Encode, OnePass, Reader, Write};
use blockmill_verdict::Hex;
use std::fs;
use std::path::Path;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator(std::alloc::System);

/// Chains that are compared; they go through the forks.
const SEEDS: u64 = 20;

/// What makes a change to a header.
type Change = fn(&mut Header);

/// Changes of one field each. Some of them make another valid block, depending on the fork and on
/// what the programs of the block look at.
const CHANGES: [(&str, Change); 27] = [
    ("parent hash", |header| header.parent_hash[0] ^= 1),
    ("ommers hash", |header| header.ommers_hash[0] ^= 1),
    ("beneficiary", |header| header.beneficiary[19] ^= 0x80),
    ("state root", |header| header.state_root[31] ^= 1),
    ("transactions root", |header| header.transactions_root[5] ^= 1),
    ("receipts root", |header| header.receipts_root[0] ^= 1),
    ("logs bloom", |header| header.logs_bloom[200] ^= 4),
    ("difficulty", |header| header.difficulty += U256::ONE),
    ("number", |header| header.number += 1),
    ("gas limit within its bound", |header| header.gas_limit += 1),
    ("gas limit beyond its bound", |header| header.gas_limit += header.gas_limit / 1024),
    ("more gas used", |header| header.gas_used += 1),
    ("less gas used", |header| header.gas_used -= 1),
    ("a later time", |header| header.timestamp += 1),
    ("the time of the parent", |header| header.timestamp -= 13),
    ("extra data", |header| header.extra_data.push(7)),
    ("too much extra data", |header| header.extra_data.resize(33, 7)),
    ("mix hash", |header| header.mix_hash[3] ^= 1),
    ("nonce", |header| header.nonce[7] ^= 1),
    ("base fee", |header| header.base_fee = header.base_fee.map(|fee| fee + U256::ONE)),
    ("withdrawals root", |header| flip(&mut header.withdrawals_root)),
    ("blob gas used", |header| {
        header.blob_gas_used = header.blob_gas_used.map(|gas| gas + 131_072)
    }),
    ("excess blob gas", |header| {
        header.excess_blob_gas = header.excess_blob_gas.map(|gas| gas + 1)
    }),
    ("beacon root", |header| flip(&mut header.parent_beacon_root)),
    ("requests hash", |header| flip(&mut header.requests_hash)),
    ("block access list hash", |header| flip(&mut header.block_access_list_hash)),
    ("slot number", |header| header.slot_number = header.slot_number.map(|slot| slot + 1)),
];

fn flip(hash: &mut Option<[u8; 32]>) {
    if let Some(hash) = hash {
        hash[31] ^= 1;
    }
}

fn benchmarks() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benchmarks")
}

fn geth() -> Ready {
    let all = peers::load(&benchmarks().join("peers.toml")).unwrap();
    let peer = all.into_iter().find(|peer| peer.name() == "geth-blocks-no-prefetch").unwrap();
    peer.prepare().unwrap_or_else(|left_out| panic!("{left_out}"))
}

/// A chain of random programs, as the definitions of execution describe one.
fn chain(seed: u64, fork: &str, folder: &Path) -> Settings {
    let all = Definition::all(&benchmarks().join("definitions")).unwrap();
    let definition = all.into_iter().find(|it| it.name == "execution-transfers").unwrap();
    let mut settings = definition.settings;
    let seed = seed.to_string();
    let changed = [
        ("work", "mixed"),
        ("fork", fork),
        ("seed", &seed),
        ("blocks", "16"),
        ("block-transactions", "30"),
        ("accounts", "32"),
    ];
    settings.extend(changed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    workloads::by_name("import").unwrap().prepare(&mut settings, folder, &mut |_| {}).unwrap();
    settings
}

/// Another chain of random programs, in which Amsterdam begins after half of the blocks.
fn into_amsterdam(seed: u64, folder: &Path) -> Settings {
    let mut settings = chain(seed, "osaka", &folder.join("osaka"));
    let recipe = Recipe {
        next_fork: Some(Fork::Amsterdam),
        blocks: 16,
        block_transactions: 30,
        accounts: 32,
        seed,
        ..Recipe::for_work(Work::Mixed)
    };
    let folder = folder.join("crossing");
    let chain = generate(&recipe, &folder, |_| {}).unwrap();
    let file = |name| folder.join(name).to_str().unwrap().to_owned();
    let tip = Hex(&chain.hash).to_string();
    let changed = [("paths", file(FILE)), ("genesis", file("genesis.json")), ("tip", tip)];
    settings.extend(changed.map(|(name, value)| (name.to_owned(), value)));
    settings
}

/// A chain with other settings, which is generated.
fn chain_with(changed: &[(&str, &str)], folder: &Path) -> Settings {
    let mut settings = chain(1, "osaka", folder);
    settings.retain(|name, _| name != "paths" && name != "genesis");
    let changed = changed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    settings.extend(changed);
    workloads::by_name("import").unwrap().prepare(&mut settings, folder, &mut |_| {}).unwrap();
    settings
}

/// Executes the blocks of a file, with every check.
fn ours(settings: &Settings, blocks: &Path, with: &[&str]) -> Result<RunRecord, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings.clone();
    settings.insert("paths".into(), blocks.to_str().unwrap().into());
    let job = Job {
        measures: "import".into(),
        settings,
        with: with.iter().map(|one| (*one).to_owned()).collect(),
        folder: folder.path().join("store"),
        ..Job::default()
    };
    workloads::by_name("import").unwrap().measure(&job).map_err(|error| format!("{error:#}"))
}

/// Blocks do not name the slots of token balances; earlier calls predict them.
#[test]
fn slots_of_token_transfers_are_predicted_and_prefetched() {
    let folder = tempfile::tempdir().unwrap();
    let settings = chain_with(
        &[("work", "erc20"), ("blocks", "1200"), ("block-transactions", "6"), ("accounts", "4000")],
        folder.path(),
    );
    let blocks = settings["paths"].clone();
    let mut roots = vec![];
    for state in ["state=pages", "state=flat+trie"] {
        for prefetch in ["prefetch=access", "prefetch=history"] {
            let record = ours(&settings, Path::new(&blocks), &[state, prefetch]).unwrap();
            let [used, unused] =
                ["prefetched_used", "prefetched_unused"].map(|name| record.facts.count_of(name));
            match prefetch {
                // two balances of each transfer; nothing is known of the first ones
                "prefetch=history" => assert!(used > 1200 * 6 && unused < 100, "{used}, {unused}"),
                _ => assert_eq!((used, unused), (0, 0)),
            }
            roots.push(record.answer["state_root"].clone());
        }
    }
    assert!(roots.iter().all(|root| *root == roots[0]));
}

/// A transaction that computes its slots accesses them in a dry run, too, without their values.
#[test]
fn slots_of_heavy_transactions_are_found_by_dry_runs() {
    let folder = tempfile::tempdir().unwrap();
    let settings = chain_with(
        &[
            ("work", "storage"),
            ("blocks", "12"),
            ("block-transactions", "2"),
            ("accounts", "64"),
            ("slots", "65536"),
        ],
        folder.path(),
    );
    let blocks = settings["paths"].clone();
    let mut roots = vec![];
    for state in ["state=pages", "state=flat+trie"] {
        for prefetch in ["prefetch=history", "prefetch=dry-runs"] {
            let record = ours(&settings, Path::new(&blocks), &[state, prefetch]).unwrap();
            let [used, unused] =
                ["prefetched_used", "prefetched_unused"].map(|name| record.facts.count_of(name));
            match prefetch {
                "prefetch=dry-runs" => {
                    let read = record.facts.count_of("slot_reads");
                    assert!(used > read / 2 && unused < used / 4, "{used}, {unused} of {read}");
                }
                _ => assert!(used < 100, "{used}"),
            }
            roots.push(record.answer["state_root"].clone());
        }
    }
    assert!(roots.iter().all(|root| *root == roots[0]));
}

/// From Amsterdam on a block's access list names every slot, so all prefetched slots are used.
#[test]
fn slots_of_access_lists_are_prefetched() {
    let folder = tempfile::tempdir().unwrap();
    let settings = chain_with(
        &[
            ("work", "erc20"),
            ("fork", "amsterdam"),
            ("blocks", "200"),
            ("block-transactions", "6"),
            ("accounts", "4000"),
        ],
        folder.path(),
    );
    let blocks = settings["paths"].clone();
    let mut roots = vec![];
    for state in ["state=pages", "state=flat+trie"] {
        for lists in ["off", "prefetch", "parallel"] {
            let with = [state, &format!("access-lists={lists}"), "prefetch=access"];
            let record = ours(&settings, Path::new(&blocks), &with).unwrap();
            let [used, unused, listed] = ["prefetched_used", "prefetched_unused", "by_access_list"]
                .map(|name| record.facts.count_of(name));
            match lists {
                "off" => assert_eq!((used, unused, listed), (0, 0, 0)),
                // two balances of each transfer
                _ => assert!(used >= 200 * 6 * 2 && unused == 0, "{lists}: {used}, {unused}"),
            }
            assert_eq!(listed, if lists == "parallel" { 200 } else { 0 });
            roots.push(record.answer["state_root"].clone());
        }
    }
    assert!(roots.iter().all(|root| *root == roots[0]));
}

/// The file without its last block, and that block.
fn split(export: &[u8]) -> (&[u8], &[u8]) {
    let (mut at, mut last) = (0, 0);
    while at < export.len() {
        last = at;
        at += Reader::new(&export[at..]).item().unwrap().raw.len();
    }
    export.split_at(last)
}

/// A block with another header.
fn changed(block: &[u8], change: Change) -> Vec<u8> {
    let mut items = Reader::new(block).list().unwrap();
    let raw = items.item().unwrap().raw;
    let mut header = HeaderView::decode(raw).unwrap().to_owned();
    change(&mut header);
    let header = header.encode();
    let mut out = OnePass::default();
    out.list(|out| {
        out.raw(&header);
        out.raw(items.rest());
    });
    out.into_bytes()
}

/// Compares a chain and changes of its last block; returns how many changes were accepted.
fn compare(settings: &Settings, geth: &Ready, folder: &Path) -> usize {
    let (fork, seed) = (&settings["fork"], &settings["seed"]);
    let export = Path::new(&settings["paths"]);
    let record = ours(settings, export, &[]).unwrap();
    let whole = geth.run(settings, &folder.join("whole")).unwrap();
    assert_eq!(record.answers(), whole.answers(), "{fork}, seed {seed}");
    assert_eq!(record.result.tip_hash, settings["tip"]);

    let bytes = fs::read(export).unwrap();
    let (before, last) = split(&bytes);
    let mut variants: Vec<_> = CHANGES.iter().map(|(_, change)| changed(last, *change)).collect();
    variants.retain(|variant| variant != last);
    variants.push(last.to_vec());
    let [file, tried] = ["before.rlp", "tried.rlp"].map(|name| folder.join(name));
    let (mut mine, mut taken) = (vec![], 0);
    for variant in &variants {
        fs::write(&file, [before, variant].concat()).unwrap();
        let accepts = ours(settings, &file, &[]).is_ok();
        taken += usize::from(accepts);
        mine.push(if accepts { "taken" } else { "refused" });
    }
    fs::write(&file, before).unwrap();
    fs::write(&tried, variants.concat()).unwrap();
    let mut settings = settings.clone();
    settings.insert("paths".into(), file.to_str().unwrap().into());
    settings.insert("try".into(), tried.to_str().unwrap().into());
    let theirs = geth.run_with(&["-try", "{try}"], &settings, &folder.join("tried")).unwrap();
    let names = CHANGES.iter().filter(|(_, change)| changed(last, *change) != last);
    let names = names.map(|(name, _)| *name).chain(["none"]);
    let verdicts: Vec<_> = theirs.answers()["verdicts"].split(' ').map(str::to_owned).collect();
    assert_eq!(verdicts.len(), mine.len());
    for ((name, mine), theirs) in names.zip(&mine).zip(&verdicts) {
        assert_eq!(mine, theirs, "{fork}, seed {seed}: {name}");
    }
    assert_eq!(mine.last(), Some(&"taken"));
    taken
}

#[blockmill_testkit::needs(peers)]
#[test]
fn random_programs_do_the_same_as_in_go_ethereum() {
    let geth = geth();
    let (mut taken, mut forks) = (0, vec![]);
    for seed in 1..=SEEDS {
        // the newest forks come more often
        let fork = FORKS[FORKS.len() - 1 - (seed as usize - 1) % FORKS.len()].0;
        let folder = tempfile::tempdir().unwrap();
        let settings = chain(seed, fork, &folder.path().join("data"));
        taken += compare(&settings, &geth, folder.path());
        forks.push(fork);
    }
    let tried = SEEDS as usize * CHANGES.len();
    println!("{tried} changed blocks, of which {taken} were taken by both: {forks:?}");
    // extra data alone changes no rule
    assert!(taken >= 2 * SEEDS as usize && taken < tried / 2, "{taken}");
}

#[blockmill_testkit::needs(peers)]
#[test]
fn chains_into_amsterdam_do_the_same_as_in_go_ethereum() {
    let geth = geth();
    let mut taken = 0;
    for seed in 1..=SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let settings = into_amsterdam(seed, &folder.path().join("data"));
        taken += compare(&settings, &geth, folder.path());
    }
    let tried = SEEDS as usize * CHANGES.len();
    println!("{tried} changed blocks, of which {taken} were taken by both");
    assert!(taken >= 2 * SEEDS as usize && taken < tried / 2, "{taken}");
}

#[test]
fn options_of_execution_end_with_the_same_state() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, fork) in [(1, "osaka"), (2, "petersburg"), (3, "frontier")] {
        let settings = chain(seed, fork, folder.path());
        let export = Path::new(&settings["paths"]).to_owned();
        let expected = ours(&settings, &export, &[]).unwrap();
        assert_eq!(expected.result.tip_hash, settings["tip"]);
        let options = workloads::by_name("import").unwrap().options(&settings).unwrap();
        let mut runs = 0;
        for option in options {
            for value in option.values.iter().filter(|value| **value != option.default) {
                let with = format!("{}={value}", option.name);
                let found = ours(&settings, &export, &[&with]).unwrap();
                assert_eq!(found.answers(), expected.answers(), "{fork} {with}");
                runs += 1;
            }
        }
        assert!(runs >= 8, "{runs}");
    }
}
