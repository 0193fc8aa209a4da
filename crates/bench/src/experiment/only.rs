//! Some variants of a comparison: those that the user named, or those that had time to run.

use super::{BASELINE, Variant};
use crate::comparison::AGAIN;
use anyhow::{Result, ensure};

/// The variants that `keep` wants, the baseline and its copy; of each old place the new one.
pub fn kept(all: &[Variant], keep: impl Fn(usize) -> bool) -> (Vec<Variant>, Vec<Option<usize>>) {
    let mut next = 0..;
    let is_kept = |at: usize| at <= AGAIN || keep(at);
    let places: Vec<Option<usize>> =
        (0..all.len()).map(|at| is_kept(at).then(|| next.next()).flatten()).collect();
    let moved = |(at, one): (usize, &Variant)| {
        let own = places[at]?;
        // what is compared with one that is gone has nothing to be compared with
        let against = places.get(one.against).copied().flatten().unwrap_or(own);
        Some(Variant { against, ..one.clone() })
    };
    (all.iter().enumerate().filter_map(moved).collect(), places)
}

/// The variants that `names` name, and those that they are compared with. A name is a label, an
/// option or a peer.
///
/// # Errors
/// When a name is that of no variant, or when there are no variants to choose from.
pub fn only(all: Vec<Variant>, names: &[String]) -> Result<Vec<Variant>> {
    if names.is_empty() {
        return Ok(all);
    }
    let is_named = |one: &Variant, name: &String| {
        let option = one.label.trim_start_matches("only ").split('=').next();
        one.label == *name || option == Some(name) || one.peer.as_ref() == Some(name)
    };
    for name in names {
        ensure!(
            all.len() > AGAIN + 1,
            "--only {name}: there are no variants to choose from without --ladder, --ablate, \
             --sweep, --peers or --history"
        );
        let labels = || {
            let labels = all.iter().skip(AGAIN + 1).map(|one| one.label.as_str());
            labels.collect::<Vec<_>>().join(", ")
        };
        ensure!(
            all.iter().any(|one| is_named(one, name)),
            "--only {name}: no such variant; available: {}",
            labels()
        );
    }
    let named: Vec<bool> =
        all.iter().map(|one| names.iter().any(|name| is_named(one, name))).collect();
    let mut keep = named.clone();
    for (at, one) in all.iter().enumerate().filter(|(at, _)| named[*at]) {
        let base = if one.against < all.len() { one.against } else { BASELINE };
        keep[base] = true;
        keep[at] = true;
    }
    Ok(kept(&all, |at| keep[at]).0)
}
