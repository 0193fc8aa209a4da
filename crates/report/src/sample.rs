//! Records for the tests of this crate.

use pipeline::record::{
    BlockRef, ChunkTimes, Program, Reindex, RunRecord, Seal, Stage, VALIDATION, WRITE,
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
    record.totals.wall_s = 1.0;
    record.phases = ["read", "decode", VALIDATION, WRITE].map(String::from).to_vec();
    record.totals.busy_s = vec![0.0; 4];
    record
}

/// A run with stages, seals and 489 chunks, whose times rise along the chain; `pace` scales them.
pub(crate) fn full(label: &str, pace: f64) -> RunRecord {
    let mut record = bare(label);
    for first in (0..1_000_000u64).step_by(2048) {
        let at = first as f64 / 1e6;
        let wave = 1.0 + 0.2 * (at * 60.0).sin();
        record.chunks.push(ChunkTimes {
            first,
            blocks: 2048.min(1_000_000 - first),
            busy_s: [0.0001, 0.0003, 0.001 * wave * (1.0 + at), 0.0008 * wave]
                .map(|time| pace * time)
                .to_vec(),
            end_s: pace * 0.002 * (first / 2048 + 1) as f64,
        });
    }
    record.totals.wall_s = pace;
    record.totals.peak_rss_bytes = 96_000_000;
    record.sum_up();
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
        stage("decode", 0.15, 0.35),
        stage("verify", 0.4, 0.1),
        stage("write", 0.3, 0.2),
    ];
    record.seal = Some(Seal { mode: "1/100".into(), seed: 42, checked: 10_031 });
    record.result.anchor = Some(BlockRef { number: 0, hash: "0xab".into() });
    record.result.committed = Some(999_999);
    record
}

/// A run over Bitcoin block files.
pub(crate) fn reindexed(label: &str) -> RunRecord {
    let mut record = full(label, 0.51);
    record.data.chain = "mainnet".into();
    record.data.format = "blk".into();
    (record.data.first, record.data.last, record.data.blocks) = (1, 4_521, 4_521);
    record.level = "execution".into();
    record.seal = None;
    record.result.anchor = None;
    (record.result.tip_number, record.result.tip_hash) = (4_521, "00".repeat(32));
    record.result.committed = Some(4_521);
    record.phases = ["read", "prepare", "connect", "check", "finish"].map(String::from).to_vec();
    for chunk in &mut record.chunks {
        chunk.busy_s.push(0.0001);
    }
    record.sum_up();
    record.reindex = Some(Reindex {
        files: 2,
        found: 4_523,
        out_of_order: 1_131,
        stale: 1,
        scan_s: 0.008,
        index_s: 0.01,
        connect_s: 0.5,
        commit_s: 0.02,
        commits: 1,
        transactions: 4_583,
        inputs: 5_000,
        scripts: 5_000,
        by_library: 12,
        coins: 3_900,
        coins_memory: 12_000_000,
        ..Reindex::default()
    });
    record
}
