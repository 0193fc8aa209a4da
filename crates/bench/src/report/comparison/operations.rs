//! The operations of a comparison that has many: each with its time, its gas, and the ratio to
//! every peer, what is slowest for its gas first.

use super::name;
use crate::comparison::{AGAIN, BASELINE};
use crate::findings::Comparison;
use crate::report::fact::{Unit, words};
use crate::report::gain::Gain;
use blockmill_pipeline::record::MGAS_PER_S;
use blockmill_report::format::{self, NONE, percent_of_noise};
use blockmill_report::table::{Cell, Table};

/// Of more operations only so many are in the table.
const MOST: usize = 250;
/// Fewer rows for sequences of operations: there are tens of thousands.
const MOST_TOGETHER: usize = 40;
/// Separates operations that are executed one after the other.
const THEN: &str = " + ";

/// An operation: its name, and million gas in a second.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    pub name: String,
    pub mgas: f64,
}

impl Operation {
    /// The two operations of a sequence; `None` for one operation or more than two.
    pub fn pair(&self) -> Option<(&str, &str)> {
        self.name.split_once(THEN).filter(|(_, second)| !second.contains(THEN))
    }

    fn fact(&self, fact: &str) -> String {
        format!("{}.{fact}", self.name)
    }
}

/// The operations of the baseline's record, the slowest for its gas first; operations too short to
/// measure come last. Empty for most comparisons.
pub(crate) fn operations(comparison: &Comparison) -> Vec<Operation> {
    // steps of other comparisons may have a speed of their own, too
    let is_of_operations = comparison.compare.first().is_some_and(|fact| fact == MGAS_PER_S);
    let Some(typical) = comparison.typical(BASELINE).filter(|_| is_of_operations) else {
        return vec![];
    };
    let known = typical.facts.iter().filter_map(|(fact, _)| fact.rsplit_once('.'));
    let known = known.filter(|(_, fact)| *fact == MGAS_PER_S).map(|(name, _)| name.to_owned());
    let of = |name: String| {
        let mgas = comparison.median(BASELINE, &format!("{name}.{MGAS_PER_S}"));
        Operation { name, mgas: mgas.unwrap_or(f64::INFINITY) }
    };
    let mut all: Vec<Operation> = known.map(of).collect();
    all.sort_by(|a, b| a.mgas.total_cmp(&b.mgas));
    all
}

/// Their table.
pub(crate) fn operation_table(comparison: &Comparison) -> Option<Table> {
    let all = operations(comparison);
    let together = all.first()?.name.contains(THEN);
    let shown = &all[..all.len().min(if together { MOST_TOGETHER } else { MOST })];
    let further: &[&str] =
        if together { &[] } else { &["time_ns", "worst_ns", "gas", "program_mgas_per_s"] };
    // records of the repository have the speeds alone
    let is_known = |fact: &&&str| {
        let mut facts = shown.iter().map(|operation| operation.fact(fact));
        facts.any(|fact| comparison.median(BASELINE, &fact).is_some())
    };
    let further: Vec<&str> = further.iter().filter(is_known).copied().collect();
    let peers: Vec<usize> = (AGAIN + 1..comparison.variants.len()).collect();
    let mut table = Table::new(&["operation", &words(MGAS_PER_S)]);
    table.heads.extend(further.iter().map(|fact| match *fact {
        "worst_ns" => "slowest".to_owned(),
        "program_mgas_per_s" => "whole program".to_owned(),
        fact => words(fact),
    }));
    for peer in &peers {
        table.heads.extend([name(comparison, *peer), "we are".to_owned()]);
    }
    for operation in shown {
        let speed = operation.fact(MGAS_PER_S);
        // tests of the execution specifications have the path of their source before their name
        let name = operation.name.rsplit("::").next().unwrap_or_default();
        let mut row = vec![Cell::from(name), fact_cell(comparison, BASELINE, &speed)];
        let noise = comparison.noise(&speed);
        row[1].small = noise.is_finite().then(|| format!("± {}", percent_of_noise(noise)));
        row.extend(
            further.iter().map(|fact| fact_cell(comparison, BASELINE, &operation.fact(fact))),
        );
        for peer in &peers {
            row.push(fact_cell(comparison, *peer, &speed));
            let found = Gain::of(comparison, BASELINE, *peer, &speed);
            row.push(found.map_or(NONE.into(), |found| {
                let cell = Cell::from(found.words()).sorted(found.gain);
                Cell { small: Some(found.sure()), ..cell }
            }));
        }
        table.rows.push(row);
    }
    if shown.len() < all.len() {
        let (shown, all) = (format::count(shown.len() as u64), format::count(all.len() as u64));
        table.notes.push(format!("The {shown} slowest of {all}; all are in the record."));
    }
    Some(table)
}

/// A variant's fact, of times the slowest; `None` if it is too short to measure.
fn fact_cell(comparison: &Comparison, at: usize, fact: &str) -> Cell {
    let show = |value: f64| match Unit::of(fact) {
        Unit::PerSecond => format::rate(value),
        unit => unit.show(value),
    };
    let value = match fact.ends_with(".worst_ns") {
        false => comparison.median(at, fact),
        true => {
            let all = comparison.records(at).into_iter().map(|record| record.facts.value(fact));
            all.reduce(f64::max).filter(|worst| *worst > 0.0)
        }
    };
    value.map_or(NONE.into(), |value| Cell::from(show(value)).sorted(value))
}
