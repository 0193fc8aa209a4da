//! Records for the tests of this crate and of `bench`, which has this file as a module of its own.
#![allow(dead_code, reason = "each crate uses its part")]

use blockmill_pipeline::record::{
    BLOCK, BLOCKS, BlockRef, CHECK_DECODE, CHECK_VERIFY, ChunkTimes, FIRST, MGAS_PER_S,
    PEAK_RSS_BYTES, Program, RunRecord, SLICE, SLOWEST_BLOCK, START_S, Series, Stage, Thread,
    WRITE,
};

/// A run of 1,000,000 blocks of which nothing but the whole time was measured.
pub(crate) fn bare(label: &str) -> RunRecord {
    let program =
        Program { name: "blockmill".into(), version: "0.1.0".into(), ..Program::default() };
    let mut record = RunRecord::new(program, label);
    record.data.chain = "mainnet".into();
    record.data.format = "era1".into();
    record.data.paths = vec!["mainnet.era1".into()];
    record.data.last = 999_999;
    record.data.blocks = 1_000_000;
    record.data.bytes = 540_000_000;
    record.machine.cpu = "Example CPU".into();
    record.machine.cores = 2;
    record.level = "headers".into();
    record.result.tip_number = 999_999;
    record.result.tip_hash = "0x01".into();
    record.took(1.0);
    record
}

/// A run with stages, seals and 489 chunks, whose times rise along the chain; `pace` scales them.
pub(crate) fn full(label: &str, pace: f64) -> RunRecord {
    let mut record = bare(label);
    let mut chunks = vec![];
    for first in (0..1_000_000u64).step_by(2048) {
        let at = first as f64 / 1e6;
        let wave = 1.0 + 0.2 * (at * 60.0).sin();
        chunks.push(ChunkTimes {
            first,
            blocks: 2048.min(1_000_000 - first),
            busy_s: [0.0001, 0.0003, 0.001 * wave * (1.0 + at), 0.0008 * wave]
                .map(|time| pace * time)
                .to_vec(),
            end_s: pace * 0.002 * (first / 2048 + 1) as f64,
        });
    }
    record.series = vec![Series::of_chunks(&chunks, &["read", CHECK_DECODE, CHECK_VERIFY, WRITE])];
    let starts = (0..100).map(|slice| pace * f64::from(slice) / 100.0).collect();
    let mut slices = Series::new(SLICE).index(START_S, "s", starts);
    for (stage, busy) in [("read", 0.05), ("check", 0.8)] {
        let wave = |at: i32| busy * pace / 100.0 * (1.0 + (f64::from(at) / 9.0).sin());
        slices = slices.measured(stage, "s", (0..100).map(wave).collect());
    }
    record.series.push(slices);
    record.took(pace);
    record.facts.count(PEAK_RSS_BYTES, 96_000_000);
    let stage = |name: &str, busy_s, wait_s| Stage {
        name: name.into(),
        threads: 1,
        busy_s,
        wait_s,
        items: 489,
        bytes: 540_000_000,
    };
    record.stages = vec![
        stage("read", 0.05, 0.45),
        stage(CHECK_DECODE, 0.15, 0.35),
        stage(CHECK_VERIFY, 0.4, 0.1),
        stage("write", 0.3, 0.2),
    ];
    record.threads = vec![Thread { busy_s: 0.6 * pace, idle_s: 0.4 * pace }; 2];
    record.settings.insert("seal".into(), "1/100".into());
    record.settings.insert("seal-seed".into(), "42".into());
    record.facts.count("seals", 10_031);
    record.result.anchor = Some(BlockRef { number: 0, hash: "0xab".into() });
    record.result.committed = Some(999_999);
    record
}

/// A run that executed 21 blocks of 30 million gas in 2 ms each, but for three of them.
pub(crate) fn executed(label: &str) -> RunRecord {
    let mut record = bare(label);
    record.level = "execution".into();
    (record.data.first, record.data.last, record.data.blocks) = (1, 21, 21);
    record.took(2.0);
    let rows = |numbers: &[u64], row: &str| {
        let of = |value: fn(u64) -> f64| numbers.iter().map(|number| value(*number)).collect();
        Series::new(row)
            .index(FIRST, "block", of(|number| number as f64))
            .index(BLOCKS, "", of(|_| 1.0))
            .index("transactions", "", of(|_| 100.0))
            .index("gas", "gas", of(|_| 30e6))
            .index("account_reads", "", of(|_| 300.0))
            .index("slot_reads", "", of(|number| if number == 7 { 2_200.0 } else { 100.0 }))
            .index("slot_hits", "", of(|_| 600.0))
            .index("changed", "", of(|_| 50.0))
            .measured(
                "execute",
                "s",
                of(|number| match number {
                    7 => 0.01,
                    8 | 9 => 0.002,
                    _ => 0.001,
                }),
            )
            .measured(
                "root",
                "s",
                of(|number| match number {
                    7 => 0.002,
                    9 => 0.004,
                    _ => 0.001,
                }),
            )
    };
    let all: Vec<u64> = (1..=21).collect();
    record.series = vec![rows(&[7, 9, 8], SLOWEST_BLOCK), rows(&all, BLOCK)];
    for (name, count) in [
        ("gas", 630_000_000),
        ("transactions", 2_100),
        ("account_reads", 6_300),
        ("slot_reads", 4_200),
        ("slot_hits", 12_600),
        ("changed", 1_050),
    ] {
        record.facts.count(name, count);
    }
    for (name, value) in [
        (MGAS_PER_S, 315.0),
        ("block_p50_s", 0.002),
        ("block_p95_s", 0.006),
        ("block_p99_s", 0.012),
        ("block_max_s", 0.012),
    ] {
        record.facts.set(name, value);
    }
    record
}

/// A run over Bitcoin block files.
pub(crate) fn reindexed(label: &str) -> RunRecord {
    let mut record = full(label, 0.51);
    record.data.chain = "mainnet".into();
    record.data.format = "blk".into();
    let names = ["read", "prepare", "connect", "check"];
    for (stage, name) in record.stages.iter_mut().zip(names) {
        stage.name = name.to_owned();
    }
    let last = record.stages[3].clone();
    record.stages.push(Stage { name: "finish".into(), ..last });
    (record.data.first, record.data.last, record.data.blocks) = (1, 4_521, 4_521);
    record.level = "execution".into();
    record.settings.clear();
    record.result.anchor = None;
    (record.result.tip_number, record.result.tip_hash) = (4_521, "00".repeat(32));
    record.result.committed = Some(4_521);
    let mut chunks = record.series.remove(0);
    let names = ["read", "prepare", "connect", "check"];
    for (column, name) in chunks.columns.iter_mut().skip(3).zip(names) {
        column.name = name.into();
    }
    let finish = vec![0.0001; chunks.len()];
    record.series.insert(0, chunks.measured("finish", "s", finish));
    record.took(0.51);
    for (name, count) in [
        ("files", 2),
        ("found", 4_523),
        ("out_of_order", 1_131),
        ("stale", 1),
        ("commits", 1),
        ("transactions", 4_583),
        ("inputs", 5_000),
        ("scripts", 5_000),
        ("by_library", 12),
        ("coins", 3_900),
        ("coins_memory_bytes", 12_000_000),
    ] {
        record.facts.count(name, count);
    }
    for (name, time) in
        [("scan_s", 0.008), ("index_s", 0.01), ("connect_s", 0.5), ("commit_s", 0.02)]
    {
        record.facts.set(name, time);
    }
    record
}
