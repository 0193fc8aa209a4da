//! Values of options are compared as types: strings exist in the parser only.

use crate::{expect_none, faults_by_line};
use blockmill_pipeline::options::{Description, OptionSet};

fn options() -> impl Iterator<Item = &'static Description> {
    let chains: [&[Description]; 3] = [
        blockmill_ethereum::settings::Settings::OPTIONS,
        blockmill_bitcoin::settings::Settings::OPTIONS,
        blockmill_neo::settings::Settings::OPTIONS,
    ];
    chains.into_iter().flatten()
}

#[test]
fn no_engine_compares_values_of_options_as_strings() {
    let assignments: Vec<_> = options().map(|option| format!("\"{}=", option.name)).collect();
    assert!(assignments.len() > 30);
    let faults = faults_by_line(|source, at| {
        let is_product = source.path.starts_with("crates/") && source.path.contains("/src/");
        let is_bench = source.path.starts_with("crates/bench/");
        if !is_product || is_bench || source.for_tests[at] {
            return None;
        }
        let line = &source.lines[at];
        // a macro declares an option, and its doc comments are no literals
        let code = line.split("//").next().unwrap_or_default();
        let assigns = assignments.iter().find(|text| code.contains(&***text));
        let asks =
            (code.contains(".is(\"") && code.matches('"').count() >= 4).then_some(".is(...)");
        assigns.map(|text| format!("{text}...\"")).or(asks.map(str::to_owned))
    });
    expect_none(faults, &[]);
}
