//! Every variant gives the same answer: on a good chain the same tip, on a damaged one the same
//! fault.

use archive::Format;
use blockmill_bench::generate::{Recipe, generate};
use blockmill_bench::headers::{Once, once};
use ethereum::option_table::Setting;
use ethereum::seal::SealMode;
use pipeline::record::RunRecord;
use std::path::{Path, PathBuf};

/// Every rung of the ladder, and the default with each switch at each of its other values.
fn settings() -> Vec<(String, Vec<String>)> {
    let rungs = Setting::rungs().map(|(rung, _)| (rung.to_string(), vec![]));
    let default = Setting::default();
    let others = default.neighbours().map(|(switch, value, _)| {
        ("blockmill".to_string(), vec![format!("{}={value}", switch.name)])
    });
    rungs.chain(others).collect()
}

fn run(file: &Path, rung: &str, with: &[String]) -> Result<RunRecord, String> {
    let scratch = tempfile::tempdir().unwrap();
    let run = Once {
        paths: vec![file.to_path_buf()],
        label: rung.to_string(),
        with: with.to_vec(),
        rung: rung.to_string(),
        seal: SealMode::Off,
        threads: 2,
        scratch: scratch.path().join("store"),
        ethash_cache: scratch.path().join("ethash"),
    };
    once(&run).map_err(|error| error.to_string())
}

fn generated(folder: &Path) -> PathBuf {
    let file = folder.join("headers.rlp");
    let recipe = Recipe { last: 5_000, seed: 7, format: Format::HeaderStream, gzip: false };
    generate(&recipe, &file, |_| {}).unwrap();
    file
}

#[test]
fn all_variants_end_with_the_same_block() {
    let folder = tempfile::tempdir().unwrap();
    let file = generated(folder.path());
    let tips: Vec<_> = settings()
        .iter()
        .map(|(rung, with)| {
            let result = run(&file, rung, with).unwrap_or_else(|e| panic!("{rung} {with:?}: {e}"));
            (result.result.tip_number, result.result.tip_hash, result.result.total_difficulty)
        })
        .collect();
    assert_eq!(tips[0].0, 5_000);
    assert!(tips.iter().all(|tip| *tip == tips[0]), "{tips:?}");
}

#[test]
fn all_variants_name_the_same_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = generated(folder.path());
    let good = std::fs::read(&file).unwrap();
    // a header of this chain has some 540 bytes; its state root begins at byte 91, its difficulty
    // stands at byte 448 behind a prefix of one byte
    let mut start = 0;
    for _ in 0..3_000 {
        start += rlp::Reader::new(&good[start..]).item().unwrap().raw.len();
    }
    for offset in [91, 449, 455] {
        let mut damaged = good.clone();
        damaged[start + offset] ^= 1;
        std::fs::write(&file, damaged).unwrap();
        let faults: Vec<_> = settings()
            .iter()
            .map(|(rung, with)| run(&file, rung, with).expect_err("a damaged chain is refused"))
            .collect();
        assert!(faults[0].contains("block 300"), "{}", faults[0]);
        assert!(faults.iter().all(|fault| *fault == faults[0]), "{faults:?}");
    }
}
