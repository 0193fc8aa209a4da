//! What every chain's import is made of: stages with bounded queues, order, busy and waiting
//! clocks, cancellation, and the run record that all tables and charts are drawn from.

pub mod disk;
pub mod machine;
pub mod percentile;
pub mod queue;
pub mod record;
pub mod signature_record;
pub mod switches;
pub mod usage;
pub mod writer_record;

mod cancel;
mod clock;
mod crew;
mod record_file;
mod reorder;
mod stages;

pub use cancel::Cancel;
pub use clock::{StageClock, StageTimes};
pub use crew::{Connected, CrewTimes, Ended, Phases, crew};
pub use reorder::Reorder;
pub use stages::{Flow, Times, run};
