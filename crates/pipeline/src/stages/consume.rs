//! The stages of a consumer of verified blocks.

use super::{Stages, Task};
use crate::schedule::Flow;
use blockmill_verdict::{ConsumerError, DerivedRows, ReceiveRows, VerifiedConsumer};
use std::sync::Arc;

/// The rows that were derived from a batch: `None` without good blocks or without a consumer.
pub type Derived = Option<Result<DerivedRows, ConsumerError>>;

/// A batch that carries derived rows from the stage that derives them to those that receive them.
pub trait CarriesRows {
    /// The rows.
    fn rows(&self) -> &Derived;

    /// The switch, to be set.
    fn rows_mut(&mut self) -> &mut Derived;

    /// Whether the run ends with the good blocks of this batch, so that later rows are not
    /// received.
    fn is_last(&self) -> bool;
}

impl<'a, S, E> Stages<'a, S, E>
where
    S: CarriesRows + Send + Sync,
    E: From<ConsumerError> + Send,
{
    /// Adds the stages of `consumer`: a parallel one that derives rows, a fork of its tasks, and
    /// one that writes. `derive` calls the consumer's function with the good blocks of a batch.
    /// What cannot be derived ends the run at that batch, when all before it are written.
    #[must_use]
    pub fn consume<D: ?Sized + Send + Sync>(
        self,
        consumer: Option<&'a VerifiedConsumer<D>>,
        derive: impl Fn(&S, &D) -> Derived + Sync + 'a,
    ) -> Self {
        let Some(VerifiedConsumer { derive: function, tasks, write }) = consumer else {
            return self;
        };
        let derived = self.parallel("derive rows", move |batch: &mut S| {
            let rows = derive(batch, function);
            *batch.rows_mut() = rows;
        });
        let task = |task: &'a Arc<ReceiveRows>| {
            Task::new("encode rows", move |batch: &S| receive(&**task, batch))
        };
        derived.fork(tasks.iter().map(task).collect()).write("write rows", move |batch: &mut S| {
            let flow = receive(&**write, batch);
            // they are as large as the blocks
            *batch.rows_mut() = None;
            flow
        })
    }
}

fn receive<S: CarriesRows, E: From<ConsumerError>>(
    receive: &ReceiveRows,
    batch: &S,
) -> Result<Flow, E> {
    match batch.rows() {
        Some(Ok(rows)) => receive(rows)?,
        Some(Err(error)) => return Err(error.clone().into()),
        None => {}
    }
    Ok(if batch.is_last() { Flow::Stop } else { Flow::Continue })
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_verdict::Status;
    use std::sync::Mutex;

    /// The number at which a batch fails in each of these ways.
    #[derive(Clone, Copy, Default)]
    struct Plan {
        not_derived: Option<u64>,
        not_written: Option<u64>,
        last: Option<u64>,
    }

    #[derive(Default)]
    struct Batch {
        number: u64,
        is_last: bool,
        rows: Derived,
    }

    impl CarriesRows for Batch {
        fn rows(&self) -> &Derived {
            &self.rows
        }

        fn rows_mut(&mut self) -> &mut Derived {
            &mut self.rows
        }

        fn is_last(&self) -> bool {
            self.is_last
        }
    }

    fn error(number: u64) -> ConsumerError {
        ConsumerError { message: format!("at {number}"), status: Status::Environment }
    }

    /// What two tasks and the writer received of 20 batches, how many were finished, and the end.
    fn run(plan: Plan, threads: usize) -> ([Vec<u64>; 3], u64, Result<(), ConsumerError>) {
        let received: Arc<[Mutex<Vec<u64>>; 3]> = Arc::default();
        let receive = |at: usize, fails: Option<u64>| -> Arc<ReceiveRows> {
            let received = received.clone();
            Arc::new(move |rows: &DerivedRows| {
                let number = *rows.downcast_ref::<u64>().unwrap();
                received[at].lock().unwrap().push(number);
                if fails == Some(number) { Err(error(number)) } else { Ok(()) }
            })
        };
        let consumer = VerifiedConsumer {
            derive: Arc::new(move |number: u64| -> Result<DerivedRows, ConsumerError> {
                match plan.not_derived == Some(number) {
                    true => Err(error(number)),
                    false => Ok(Box::new(number)),
                }
            }),
            tasks: vec![receive(0, None), receive(1, None)],
            write: receive(2, plan.not_written),
        };
        let (mut next, mut finished) = (0, 0);
        let read = |batch: &mut Batch| {
            (batch.number, batch.is_last) = (next, plan.last == Some(next));
            next += 1;
            Ok::<_, ConsumerError>(next <= 20)
        };
        let buffers = (0..6).map(|_| Batch::default()).collect();
        let ended = Stages::read("read", read)
            .consume(Some(&consumer), |batch, derive| {
                // odd batches have no good block
                batch.number.is_multiple_of(2).then(|| derive(batch.number))
            })
            .serial("finish", |batch| {
                assert!(batch.rows.is_none());
                finished += 1;
                Ok(Flow::Continue)
            })
            .run(buffers, threads);
        let received = [0, 1, 2].map(|at| received[at].lock().unwrap().clone());
        (received, finished, ended.outcome)
    }

    fn even(end: u64) -> Vec<u64> {
        (0..end).step_by(2).collect()
    }

    #[test]
    fn tasks_and_writer_receive_all_rows_in_order() {
        for threads in [0, 1, 3] {
            let (received, finished, outcome) = run(Plan::default(), threads);
            assert_eq!((received, finished), ([even(20), even(20), even(20)], 20));
            assert!(outcome.is_ok());
        }
    }

    #[test]
    fn rows_after_the_last_batch_reach_nobody() {
        for (threads, last) in [(0, 6), (1, 7), (3, 6)] {
            let plan = Plan { last: Some(last), ..Plan::default() };
            let (received, finished, outcome) = run(plan, threads);
            assert_eq!((received, finished), ([even(8), even(8), even(8)], last + 1));
            assert!(outcome.is_ok());
        }
    }

    #[test]
    fn an_error_ends_the_run_after_the_batches_before_it() {
        let not_derived = Plan { not_derived: Some(8), ..Plan::default() };
        let not_written = Plan { not_written: Some(8), ..Plan::default() };
        for threads in [0, 1, 3] {
            let (received, finished, outcome) = run(not_derived, threads);
            assert_eq!((received, finished), ([even(8), even(8), even(8)], 8));
            assert_eq!(outcome, Err(error(8)));
            let (received, finished, outcome) = run(not_written, threads);
            assert_eq!((&received[2], finished), (&even(10), 8));
            assert_eq!(outcome, Err(error(8)));
        }
    }
}
