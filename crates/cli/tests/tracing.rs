//! `RUST_LOG`: events on standard error, and nothing else changes.

use crate::program::{Scratch, blockmill, run, succeed};

#[test]
fn events_are_printed_only_where_rust_log_asks_for_them() {
    let scratch = Scratch::new("tracing");
    let (chain, data) = (scratch.path("chain.rlp"), scratch.path("data"));
    let (chain, data) = (chain.display(), data.display());
    succeed(&mut blockmill(&format!("generate ethereum --headers 300 --out {chain}")));
    let import = |filter: &str| {
        let words = format!("import --level headers --seal off {chain} --data {data} --json");
        let ended = run(blockmill(&words).env("RUST_LOG", filter));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.starts_with('{'), "{}", ended.stdout);
        ended.stderr
    };
    let all = import("blockmill=debug");
    for event in ["archive opened", "stages start", "durable commit", "stages ended"] {
        assert!(all.contains(event), "{event}: {all}");
    }
    let one = import("blockmill_archive=debug");
    assert!(one.contains("archive opened") && !one.contains("stages"), "{one}");
    assert_eq!(import("off"), "");
    assert!(import("blockmill=loud").contains("RUST_LOG=blockmill=loud: "));
}
