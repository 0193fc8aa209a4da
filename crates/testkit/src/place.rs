//! Where the things are that tests need from outside of this repository.

use crate::need::{Need, REQUIRE};
use std::path::PathBuf;

/// Whether a test that cannot run here fails.
#[must_use]
pub fn must_run() -> bool {
    std::env::var_os(REQUIRE).is_some_and(|value| !value.is_empty())
}

/// The folder or program of a need, by its name in [`needs`](crate::needs).
#[track_caller]
pub fn path_of(name: &str) -> PathBuf {
    let Some(need) = Need::named(name) else { panic!("nothing is called `{name}`") };
    let value = std::env::var_os(need.variable).filter(|value| !value.is_empty());
    let Some(value) = value else { panic!("{}", need.reason()) };
    let path = PathBuf::from(value);
    let there = path.exists();
    assert!(there, "{} names {}, which is not there; {}", need.variable, path.display(), need.how);
    path
}
