//! The program `blockmill-bench`, the laboratory of blockmill: definitions, comparisons,
//! statistics, peers, and the pages that show them. [`command`] has its command line.
//!
//! ```text
//! benchmarks/definitions/NAME.toml ──> cases x variants ──> runs, each in a process ──> records
//!                                       (experiment)         (comparison, in an runner)     │
//!                                                   tables, charts, page <── findings <────┘
//! ```
//!
//! A definition says what is measured; a [`workloads::Workload`] runs it once. An [`experiment`]
//! says which variants are compared with which, and a [`comparison`] which runs next and when
//! enough is known.

pub mod baselines;
pub mod by_block;
pub mod child;
pub mod cold;
pub mod command;
pub mod comparison;
pub mod counting;
pub mod definition;
pub mod experiment;
pub mod findings;
pub mod instructions;
pub mod job;
mod meanings;
pub mod peers;
mod process;
mod progress;
pub mod report;
pub mod revisions;
pub mod runner;
pub mod scratch;
pub mod session;
pub mod statistics;
pub mod workloads;
