//! Scripts, by the library and by templates: Bitcoin Core's vectors, real blocks, signed
//! transactions of every form, and what happens to them when they are changed.

mod assembly;
mod case;
mod changed;
mod core_vectors;
mod faults;
mod figures;
mod forms;
mod naive;
mod real_blocks;
mod signet;
mod unusual;
