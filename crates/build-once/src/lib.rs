//! No code, but dependencies: crates from elsewhere with the features that tests of the workspace
//! ask of them. Cargo builds a crate anew for each set of features that is asked for, and with it
//! all that stand on it; a build of a few packages that has this one among them finds what the
//! tests were built with.
