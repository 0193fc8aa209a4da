//! What the import of every chain needs: a scheduler for any list of stages, clocks, cancellation,
//! and the run record, from which all tables and charts are drawn.

pub mod disk;
pub mod machine;
pub mod options;
pub mod record;
pub mod usage;

mod cancel;
pub mod live;
mod run_clock;
mod schedule;
mod stages;
mod timeline;
mod times;

pub use cancel::Cancel;
pub use run_clock::RunClock;
pub use schedule::Flow;
pub use stages::{CarriesRows, Derived, Ended, StageOrder, Stages, Task, buffers};
pub use timeline::Timeline;
pub use times::{StageTimes, ThreadTimes, Times};
