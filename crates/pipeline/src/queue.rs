//! Bounded queues that know how long their users waited.
//!
//! The clock is read only when a queue is full or empty, so an undisturbed hand-over costs none.

use crossbeam_channel as channel;
use std::time::{Duration, Instant};

/// The other end of a queue is gone: the stage there has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

/// The filling end of a queue.
pub struct Sender<T> {
    inner: channel::Sender<T>,
    waited: Duration,
}

/// The draining end of a queue.
pub struct Receiver<T> {
    inner: channel::Receiver<T>,
    waited: Duration,
}

/// A queue that holds at most `capacity` items.
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = channel::bounded(capacity);
    (Sender { inner: tx, waited: Duration::ZERO }, Receiver { inner: rx, waited: Duration::ZERO })
}

impl<T> Sender<T> {
    /// Puts `item` into the queue, waiting while it is full.
    pub fn send(&mut self, item: T) -> Result<(), Closed> {
        match self.inner.try_send(item) {
            Ok(()) => Ok(()),
            Err(channel::TrySendError::Disconnected(_)) => Err(Closed),
            Err(channel::TrySendError::Full(item)) => {
                let start = Instant::now();
                let sent = self.inner.send(item);
                self.waited += start.elapsed();
                sent.map_err(|_| Closed)
            }
        }
    }

    /// Time spent waiting for room.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

impl<T> Receiver<T> {
    /// The next item, waiting while the queue is empty; `None` when no sender is left.
    pub fn recv(&mut self) -> Option<T> {
        match self.inner.try_recv() {
            Ok(item) => Some(item),
            Err(channel::TryRecvError::Disconnected) => None,
            Err(channel::TryRecvError::Empty) => {
                let start = Instant::now();
                let item = self.inner.recv().ok();
                self.waited += start.elapsed();
                item
            }
        }
    }

    /// Time spent waiting for items.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}

impl<T> Clone for Sender<T> {
    /// Another sender into the same queue; its waiting time starts at zero.
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), waited: Duration::ZERO }
    }
}

impl<T> Clone for Receiver<T> {
    /// Another receiver from the same queue; its waiting time starts at zero.
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), waited: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn items_arrive_in_order_and_the_end_is_seen() {
        let (mut tx, mut rx) = bounded(2);
        let sender = thread::spawn(move || (0..100).all(|n| tx.send(n).is_ok()));
        assert_eq!(std::iter::from_fn(|| rx.recv()).collect::<Vec<_>>(), Vec::from_iter(0..100));
        assert!(sender.join().unwrap());
    }

    #[test]
    fn waiting_is_counted_on_the_side_that_waits() {
        let (mut tx, mut rx) = bounded(1);
        let receiver = thread::spawn(move || {
            while rx.recv().is_some() {}
            rx.waited()
        });
        thread::sleep(Duration::from_millis(50));
        tx.send(()).unwrap();
        assert_eq!(tx.waited(), Duration::ZERO);
        drop(tx);
        assert!(receiver.join().unwrap() >= Duration::from_millis(40));
    }

    #[test]
    fn sending_into_a_stopped_stage_is_an_error() {
        let (mut tx, rx) = bounded(1);
        drop(rx);
        assert_eq!(tx.send(1), Err(Closed));
    }
}
