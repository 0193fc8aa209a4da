//! What every chain's import is made of: one scheduler for any list of stages, clocks,
//! cancellation, and the run record that all tables and charts are drawn from.

pub mod disk;
pub mod machine;
pub mod options;
pub mod record;
pub mod usage;

mod cancel;
pub mod live;
mod schedule;
mod stages;
mod timeline;
mod times;

pub use cancel::Cancel;
pub use schedule::Flow;
pub use stages::{CarriesRows, Derived, Ended, StageOrder, Stages, Task, buffers};
pub use timeline::Timeline;
pub use times::{StageTimes, ThreadTimes, Times};
