//! States on disk against naive ones, kills and power losses: one test program, so that it is
//! linked once and its tests fill all cores.

mod executed_chain;
#[path = "../../store/tests/generated_blocks/mod.rs"]
mod generated_blocks;
mod generated_state;

mod chain_with_parts;
mod pages_against_naive;
mod pages_survive;
mod pages_within_a_budget;
