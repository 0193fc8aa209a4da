//! Every option gives the same answer: on a good chain the same tip, on a damaged one the same
//! fault.

use blockmill_archive::Format;
use blockmill_bench::definition::{Definition, Settings};
use blockmill_bench::experiment::{Experiment, variants};
use blockmill_bench::job::Job;
use blockmill_bench::workloads;
use blockmill_generate::ethereum::{Recipe, generate};
use blockmill_pipeline::record::RunRecord;
use std::path::{Path, PathBuf};

fn definition() -> Definition {
    let all = Definition::all(Path::new("no such folder")).unwrap();
    all.into_iter().find(|definition| definition.name == "headers").unwrap()
}

/// Every step of the ladder, and every setting of the ablation.
fn settings() -> Vec<(String, Vec<String>)> {
    let definition = definition();
    let options = workloads::by_name("import").unwrap().options(&definition.settings).unwrap();
    let of = |experiment| variants(&definition, &experiment, &options).unwrap();
    let all = of(Experiment::Ladder).into_iter().chain(of(Experiment::Ablation));
    all.map(|one| (one.label, one.with)).collect()
}

fn run(file: &Path, label: &str, with: &[String]) -> Result<RunRecord, String> {
    let scratch = tempfile::tempdir().unwrap();
    let mut settings: Settings = definition().settings;
    settings.insert("paths".into(), file.to_str().unwrap().into());
    settings.insert("genesis".into(), "mainnet".into());
    let job = Job {
        measures: "import".into(),
        label: label.to_string(),
        settings,
        with: with.to_vec(),
        folder: scratch.path().join("store"),
        record: scratch.path().join("record.json"),
    };
    let workload = workloads::by_name("import").unwrap();
    job.run(workload).map_err(|error| error.to_string())?;
    Ok(RunRecord::read(&job.record).unwrap())
}

fn generated(folder: &Path) -> PathBuf {
    let file = folder.join("headers.rlp");
    let recipe = Recipe { last: 5_000, seed: 7, format: Format::HeaderStream, gzip: false };
    generate(&recipe, &file, |_| {}).unwrap();
    file
}

#[test]
fn all_options_end_with_the_same_block() {
    let folder = tempfile::tempdir().unwrap();
    let file = generated(folder.path());
    let tips: Vec<_> = settings()
        .iter()
        .map(|(label, with)| {
            let result =
                run(&file, label, with).unwrap_or_else(|e| panic!("{label} {with:?}: {e}"));
            (result.result.tip_number, result.result.tip_hash, result.result.total_difficulty)
        })
        .collect();
    assert_eq!(tips[0].0, 5_000);
    assert!(tips.iter().all(|tip| *tip == tips[0]), "{tips:?}");
}

#[test]
fn all_options_name_the_same_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = generated(folder.path());
    let good = std::fs::read(&file).unwrap();
    // a header of this chain has some 540 bytes; its state root begins at byte 91, its difficulty
    // starts at byte 448, after a prefix of one byte
    let mut start = 0;
    for _ in 0..3_000 {
        start += blockmill_rlp::Reader::new(&good[start..]).item().unwrap().raw.len();
    }
    for offset in [91, 449, 455] {
        let mut damaged = good.clone();
        damaged[start + offset] ^= 1;
        std::fs::write(&file, damaged).unwrap();
        let faults: Vec<_> = settings()
            .iter()
            .map(|(label, with)| run(&file, label, with).expect_err("a damaged chain is refused"))
            .collect();
        assert!(faults[0].contains("block 300"), "{}", faults[0]);
        assert!(faults.iter().all(|fault| *fault == faults[0]), "{faults:?}");
    }
}
