//! The functions that took most of a run's CPU time.

use std::collections::{HashMap, HashSet};

use blockmill_pipeline::record::{Profile, RunRecord};

use crate::symbol;
use crate::table::{Cell, Table};

/// How many are shown.
const SHOWN: usize = 20;

/// The functions that were found most often at the end of a stack; none when the run was not
/// sampled.
pub(crate) fn table(record: &RunRecord) -> Option<Table> {
    let profile = record.profile.as_ref().filter(|profile| profile.samples > 0)?;
    let share = |samples: u64| Cell::of_share(samples as f64 / profile.samples as f64);
    let mut table = Table::new(&["function", "itself", "with callees"]);
    for (name, own, all) in heaviest(profile).into_iter().take(SHOWN) {
        table.rows.push(vec![Cell::from(symbol::with_crate(name)), share(own), share(all)]);
    }
    Some(table)
}

/// Functions with the number of samples in which they were innermost, and in which they occurred.
fn heaviest(profile: &Profile) -> Vec<(&str, u64, u64)> {
    let mut found: HashMap<u32, (u64, u64)> = HashMap::new();
    for stack in &profile.stacks {
        // once for a stack, however often it calls itself
        for function in stack.functions.iter().collect::<HashSet<_>>() {
            found.entry(*function).or_default().1 += stack.samples;
        }
        if let Some(innermost) = stack.functions.last() {
            found.entry(*innermost).or_default().0 += stack.samples;
        }
    }
    let mut all: Vec<_> =
        found.into_iter().map(|(at, (own, all))| (profile.name(at), own, all)).collect();
    all.sort_by(|a, b| (b.1, b.2, a.0).cmp(&(a.1, a.2, b.0)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn functions_are_counted_once_in_a_stack() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let stacks = [("main a a b", 6), ("main a", 2), ("main", 2)];
        let mut record = sample::full("x", 1.0);
        assert!(table(&record).is_none());
        let profile = Profile::from_stacks(9, stacks.map(|(text, samples)| (names(text), samples)));
        assert_eq!(heaviest(&profile), [("b", 6, 6), ("main", 2, 10), ("a", 2, 8)]);
        record.profile = Some(profile);
        let text = table(&record).unwrap().markdown();
        assert!(text.contains("| b | 60 % | 60 % |"), "{text}");
    }
}
