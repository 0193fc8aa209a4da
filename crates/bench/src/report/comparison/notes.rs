//! What must be known to read the figures of a comparison.

use super::{name, swept};
use crate::comparison::BASELINE;
use crate::findings::Comparison;
use crate::report::fact::{exponent, words};
use blockmill_report::format::{self, percent_of_noise};
use blockmill_report::runs::shell;

/// Sentences below the table.
pub(crate) fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = vec![];
    if !comparison.command.is_empty() {
        notes.push(format!("Again: {}", shell(&comparison.command)));
    }
    let described = comparison.variants.iter().filter(|one| !one.about.is_empty());
    notes.extend(described.map(|one| format!("{}: {}", one.label, one.about)));
    notes.extend(growth(comparison));
    notes.push(noise(comparison));
    notes.push(runs(comparison));
    notes.extend(comparison.left_out.iter().map(|why| format!("Left out: {why}")));
    if let Some(typical) = comparison.typical(BASELINE).filter(|run| !run.answers().is_empty()) {
        let answers =
            typical.answers().into_keys().collect::<Vec<_>>().join(", ").replace('_', " ");
        let whose =
            if swept(comparison, BASELINE).is_some() { "Runs of one value" } else { "All runs" };
        notes.push(format!("{whose} found the same: {answers}."));
    }
    notes
}

/// Why the figures should not be relied upon, if they should not.
pub(crate) fn caution(comparison: &Comparison) -> Option<String> {
    let (disturbed, all) = comparison.disturbed();
    (disturbed * 2 > all).then(|| {
        format!(
            "Others used the machine during {disturbed} of {all} runs: the results are valid for \
             a busy machine. Measure again on a quiet one."
        )
    })
}

fn growth(comparison: &Comparison) -> Vec<String> {
    let setting = comparison.experiment.trim_start_matches("sweep ");
    let of = |(program, figure): (Option<&str>, &String)| {
        let exponent = exponent(&comparison.growth(program, figure)?);
        let whose = program.map_or(String::new(), |peer| format!(" of {peer}"));
        Some(format!("{}{whose} grows as {setting} to the power of {exponent}.", words(figure)))
    };
    let programs = comparison.programs();
    let all =
        programs.iter().flat_map(|one| comparison.compare.iter().map(|figure| (*one, figure)));
    all.filter_map(of).collect()
}

fn noise(comparison: &Comparison) -> String {
    let noise = comparison.noise(comparison.figure());
    let name = name(comparison, BASELINE);
    match noise.is_finite() {
        true => format!(
            "Noise: {name} differs from itself by up to {} (95 %); no smaller difference is \
             called one.",
            percent_of_noise(noise)
        ),
        false => format!("Noise: unknown, because {name} has too few pairs with itself."),
    }
}

fn runs(comparison: &Comparison) -> String {
    let (disturbed, all) = comparison.disturbed();
    let all = format::counted(all as u64, "run");
    let how = format!(
        "{all}, each in a process of its own; the order is drawn, then reversed (A B B A); ratios \
         are medians of pairs."
    );
    match disturbed {
        0 => format!("{how} None was disturbed by others."),
        some => format!(
            "{how} Disturbed by others: {}; such runs are repeated as far as the budget goes, and \
             count only where there are too few without.",
            format::counted(some as u64, "run")
        ),
    }
}

/// What others have published about the same thing: questions and answers.
pub(crate) fn reference(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let Some(reference) = &comparison.reference else { return vec![] };
    let mut all = vec![
        ("Published by", reference.who.clone()),
        ("They measured", reference.measured.clone()),
        ("We measure", comparison.about.clone()),
        ("Why it differs", reference.differs.clone()),
        ("Source", reference.source.clone()),
    ];
    // of our whole runs, where the case is what they measured
    let whole = published(comparison, &comparison.case).filter(|_| !comparison.case.is_empty());
    all.insert(2, ("Their figure", whole.unwrap_or_default().to_owned()));
    all.retain(|(_, answer)| !answer.is_empty());
    all
}

/// What others published of a step or a case of this name.
pub(crate) fn published<'a>(comparison: &'a Comparison, of: &str) -> Option<&'a str> {
    let figures = &comparison.reference.as_ref()?.figures;
    figures.iter().find(|figure| figure.of == of).map(|figure| figure.value.as_str())
}
