//! Proof of stake begins where the total difficulty says, which a shard in the middle of a chain
//! does not know.

use super::*;
use serde_json::Value;

/// The chain's rules with another terminal total difficulty.
fn with_terminal(name: &str, terminal: u64) -> ChainSpec {
    let genesis = blockmill_testkit::read(format!("ethereum/chains/{name}/genesis.json"));
    let mut genesis: Value = serde_json::from_slice(&genesis).unwrap();
    genesis["config"]["terminalTotalDifficulty"] = terminal.into();
    ChainSpec::from_genesis_json(&genesis.to_string()).unwrap()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn a_merge_too_early_or_too_late_is_named_as_by_a_single_run() {
    let mut random = Random::new_each_run("a_merge_too_early_or_too_late");
    let (spec, blocks) = published("execution-apis");
    let real = spec.merge.unwrap().terminal_total_difficulty.to::<u64>();
    let mut verdicts = vec![];
    for _ in 0..blockmill_testkit::rounds(60) {
        let wrong = real / 2 + random.below(real);
        let spec = with_terminal("execution-apis", wrong);
        let folder = tempfile::tempdir().unwrap();
        let parts = write_parts(folder.path(), &cut(&mut random, &blocks));
        let level = if random.coin() { Level::Headers } else { Level::Bodies };
        verdicts.push(expect_same(&parts, &options(&spec, level), "merge"));
    }
    verdicts.sort();
    verdicts.dedup();
    println!("{verdicts:?}");
    assert!(verdicts.contains(&"terminal total difficulty".to_owned()), "{verdicts:?}");
}
