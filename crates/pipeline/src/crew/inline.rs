//! All phases on one thread, one after the other: the plain version of the crew.

use super::{Connected, CrewTimes, Ended, Phases};
use crate::StageTimes;
use std::time::Instant;

/// Passes one buffer after the other through all phases.
pub(super) fn inline<S, E>(
    mut buffers: Vec<S>,
    phases: Phases<
        impl FnMut(&mut S) -> Result<bool, E>,
        impl Fn(&mut S),
        impl FnMut(&mut S) -> Connected,
        impl Fn(&mut S),
        impl FnMut(&mut S) -> Result<(), E>,
    >,
) -> Ended<S, E> {
    let Phases { mut read, prepare, mut connect, check, mut finish } = phases;
    let mut times = CrewTimes::default();
    let mut unfinished = vec![];
    let outcome = loop {
        let Some(buffer) = buffers.last_mut() else { break Ok(()) };
        let mut clock = Instant::now();
        let mut lap = |stage: &mut StageTimes| {
            let now = Instant::now();
            stage.busy += now - clock;
            stage.items += 1;
            stage.threads = 1;
            clock = now;
        };
        match read(buffer) {
            Ok(true) => lap(&mut times.read),
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        prepare(buffer);
        lap(&mut times.prepare);
        let how = connect(buffer);
        lap(&mut times.connect);
        check(buffer);
        lap(&mut times.check);
        let finished = finish(buffer);
        lap(&mut times.finish);
        if let Err(error) = finished {
            unfinished.extend(buffers.pop());
            break Err(error);
        }
        if how == Connected::Stop {
            break Ok(());
        }
    };
    Ended { times, unfinished, outcome }
}
