//! Bodies and receipts of real blocks: exported chains, era1 files, witnesses.

mod bodies;
mod objects;
mod receipts;
