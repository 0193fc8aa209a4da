//! Flags of what is written.

use clap::Args;

/// What may be replaced.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Force {
    /// Replace outputs of an earlier run; never an input, and no folder with other files in it
    #[arg(long)]
    pub force: bool,
}

/// What may be written.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Outputs {
    #[command(flatten)]
    pub replace: Force,
    /// Begin even when the disk has too little room for what is known to be needed
    #[arg(long)]
    pub no_space_check: bool,
}
