//! Each option of the product is measured: a ladder or an ablation of a definition changes it.

use blockmill_bench::definition::Definition;
use blockmill_bench::workloads;
use blockmill_pipeline::options::{Description, OptionSet};
use std::collections::BTreeSet;
use std::path::Path;

/// Options that no ladder or ablation changes, and why.
const NOT_MEASURED: [(&str, &str, &str); 0] = [];

fn options() -> [(&'static str, &'static [Description]); 3] {
    [
        ("ethereum", blockmill_ethereum::settings::Settings::OPTIONS),
        ("bitcoin", blockmill_bitcoin::settings::Settings::OPTIONS),
        ("neo", blockmill_neo::settings::Settings::OPTIONS),
    ]
}

fn definitions() -> Vec<Definition> {
    Definition::all(Path::new("no such folder")).unwrap()
}

/// The names of the options that a definition's ablation and the steps of its ladder change.
fn changed(definition: &Definition) -> BTreeSet<String> {
    let steps = definition.ladder.iter().flat_map(|step| &step.with);
    let of_ladder = steps.filter_map(|with| Some(with.split_once('=')?.0.to_owned()));
    definition.ablation.iter().cloned().chain(of_ladder).collect()
}

/// The names of the options of a chain that some definition changes.
fn measured(chain: &str) -> BTreeSet<String> {
    let of_chain = |definition: &&Definition| {
        definition.settings.get("chain").is_some_and(|found| found == chain)
    };
    definitions().iter().filter(of_chain).flat_map(changed).collect()
}

#[test]
fn every_option_is_in_a_ladder_or_an_ablation() {
    for (chain, options) in options() {
        assert!(options.len() > 3, "{chain}: {} options", options.len());
        let measured = measured(chain);
        for name in options.iter().map(|option| option.name) {
            let exception =
                NOT_MEASURED.iter().find(|(of, known, _)| (*of, *known) == (chain, name));
            match exception {
                None => assert!(
                    measured.contains(name),
                    "{chain}: no definition has option {name} in its ladder or ablation"
                ),
                Some((_, _, why)) => {
                    assert!(!measured.contains(name), "{chain}: {name} is measured: {why}");
                }
            }
        }
        for (of, name, _) in NOT_MEASURED.iter().filter(|(of, ..)| *of == chain) {
            let exists = options.iter().any(|option| option.name == *name);
            assert!(exists, "{of}: the exception {name} is no option");
        }
    }
}

#[test]
fn definitions_change_options_that_exist_to_values_that_exist() {
    let mut changes = 0;
    for definition in definitions() {
        let workload = workloads::by_name(&definition.measures).unwrap();
        for (_, settings) in definition.cases() {
            let options = workload.options(&settings).unwrap();
            for name in changed(&definition) {
                let found = options.iter().any(|option| option.name == name);
                assert!(found, "{}: no option {name}", definition.name);
                changes += 1;
            }
        }
    }
    assert!(changes > 100, "{changes}");
}

#[test]
fn every_step_of_a_ladder_has_a_sentence() {
    let all = definitions();
    let steps: Vec<_> =
        all.iter().flat_map(|one| one.ladder.iter().map(move |s| (one, s))).collect();
    for (definition, step) in &steps {
        let (about, name) = (&step.about, &step.name);
        assert!(about.ends_with('.'), "{}: step {name:?} has no sentence", definition.name);
    }
    assert!(steps.len() > 50, "{}", steps.len());
}
