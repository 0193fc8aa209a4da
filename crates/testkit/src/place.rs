//! Where the things are that tests need from outside of this repository.

use crate::need::Need;
use std::path::PathBuf;

/// The folder or program that stands for a need, called as in [`needs`](crate::needs).
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
