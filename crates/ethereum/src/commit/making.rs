//! What is made of verified blocks on their way to a sink, beside each other and in order.

use crate::commit::Verified;
use crate::fault::Error;
use crate::import::batch::Batch;
use blockmill_pipeline::{Flow, Made, NotMade, Stages, Task};
use std::sync::Arc;

/// Makes something of verified blocks, on any thread.
pub type Make = Arc<dyn Fn(&Verified<'_>) -> Result<Made, NotMade> + Send + Sync>;

/// Does something with what was made, in the order of blocks and beside other such tasks.
pub type MadeTask = Box<dyn FnMut(&Made) -> Result<(), NotMade> + Send>;

/// What is done with verified blocks before they are written.
pub struct Making {
    /// What is made of them.
    pub make: Make,
    /// What is done with that.
    pub tasks: Vec<MadeTask>,
}

impl Making {
    /// Adds its stages, which come when blocks are verified.
    pub(crate) fn stages<'a>(
        making: Option<Self>,
        stages: Stages<'a, Batch, Error>,
    ) -> Stages<'a, Batch, Error> {
        let Some(Self { make, tasks }) = making else { return stages };
        let task = |mut task: MadeTask| {
            Task::new("encode", move |batch: &Batch| match &batch.made {
                Some(Ok(made)) => Ok(task(made).map(|()| Flow::Continue)?),
                // the write tells of what was not made
                _ => Ok(Flow::Continue),
            })
        };
        let made = stages.parallel("columns", move |batch| {
            let made = make(&batch.verified());
            batch.made = Some(made);
        });
        made.fork(tasks.into_iter().map(task).collect())
    }
}

impl From<NotMade> for Error {
    fn from(error: NotMade) -> Self {
        Self::NotMade(error)
    }
}
