//! The program `blockmill-bench`, the laboratory of blockmill: definitions, contests, statistics,
//! peers, and the pages that show them. [`command`] has its command line.
//!
//! ```text
//! benchmarks/definitions/NAME.toml ──> cases x contestants ──> runs, each in a process ──> records
//!                                       (shape)                 (contest, in an arena)       │
//!                                                     tables, charts, page <── findings <────┘
//! ```
//!
//! A definition says what is measured; a [`kinds::Kind`] knows how to do it once. A [`shape`] says
//! who is compared with whom, and a [`contest`] whose turn it is and when enough is known.

pub mod arena;
pub mod baselines;
pub mod child;
pub mod cold;
pub mod command;
pub mod contest;
pub mod counting;
pub mod definition;
pub mod findings;
pub mod instructions;
pub mod job;
pub mod kinds;
pub mod peers;
mod process;
pub mod report;
pub mod revisions;
pub mod scratch;
pub mod shape;
pub mod sitting;
pub mod statistics;
