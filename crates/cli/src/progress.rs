//! How far a command is: a bar on a terminal, otherwise a line every ten seconds.
//!
//! Engines report to [`Live`] what they are busy with; one thread looks there and shows it, from
//! the first second of a command to its last.

use crate::log;
use crate::print::{self, Detail};
use crate::stop;
use blockmill_pipeline::live::{Live, Phase};
use blockmill_report::{bytes, rate};
use blockmill_verdict::{Progress, grouped};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Time between two looks at the run, for a bar.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A command that is over by then shows nothing.
const UNSEEN: Duration = Duration::from_millis(300);

/// The bar on the terminal. What else is printed is printed above it.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Shows how far `work` is, which reports it to `live`, and removes the bar at its end. Until it
/// reports something, it is called `name`.
pub fn watch<T>(live: &Live, name: &'static str, quiet: bool, work: impl FnOnce() -> T) -> T {
    live.start(name);
    if quiet || print::detail() == Detail::Quiet {
        return work();
    }
    let ended = Ended::default();
    thread::scope(|scope| {
        // without a thread nothing is shown, and the work is done all the same
        let _ = Builder::new().spawn_scoped(scope, || show(live, &ended));
        let _end = End(&ended);
        work()
    })
}

/// Reports to `live` how far `work` is, which goes through blocks.
pub fn blocks<T>(live: &Live, work: impl FnOnce(&mut (dyn FnMut(&Progress) + Send)) -> T) -> T {
    let ended = work(&mut |progress| live.progress(progress));
    // for the message about a full disk
    stop::still_to_come(live.phase().map_or(0, |phase| phase.left()));
    ended
}

/// Prints something while the bar is hidden.
pub fn hidden<T>(print: impl FnOnce() -> T) -> T {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Whether the work has ended.
#[derive(Default)]
struct Ended {
    ended: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    /// Waits, at most so long; has the work ended?
    fn wait(&self, time: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(ended, time, |ended| !*ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Ends the display when the work is left, in any way.
struct End<'a>(&'a Ended);

impl Drop for End<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}

fn show(live: &Live, ended: &Ended) {
    if !stderr().is_terminal() {
        while !ended.wait(LINE_EVERY) {
            live.phase().iter().for_each(|phase| eprintln!("{}", line(phase, Instant::now())));
        }
        return;
    }
    if ended.wait(UNSEEN) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
    let mut logged = Instant::now();
    loop {
        match live.phase() {
            Some(phase) => {
                draw(&bar, &phase);
                if log::is_open() && logged.elapsed() >= LINE_EVERY {
                    logged = Instant::now();
                    log::add(&format!("{}\n", line(&phase, logged)));
                }
            }
            None => {
                bar.set_style(style("{spinner} waiting"));
                bar.tick();
            }
        }
        if ended.wait(LOOK_EVERY) {
            break;
        }
    }
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = None;
    bar.finish_and_clear();
}

fn draw(bar: &ProgressBar, phase: &Phase) {
    let (_, columns) = console::Term::stderr().size();
    let template = match (phase.total, columns) {
        (0, _) => "{spinner} {prefix}  {wide_msg}",
        (_, 100..) => "{prefix} {bar:32} {percent:>3}%  {wide_msg}",
        (_, 70..) => "{prefix} {bar:12} {percent:>3}%  {wide_msg}",
        _ => "{prefix} {percent:>3}%  {wide_msg}",
    };
    bar.set_style(style(template));
    bar.set_prefix(match phase.place {
        Some((number, of @ 2..)) => format!("{number}/{of} {}", phase.name),
        _ => phase.name.to_string(),
    });
    bar.set_length(phase.total.max(1));
    bar.set_position(phase.done.min(phase.total));
    bar.set_message(message(phase, Instant::now()));
    bar.tick();
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─")
}

/// A line for a log, or for what is no terminal.
fn line(phase: &Phase, now: Instant) -> String {
    let place = match phase.place {
        Some((number, of @ 2..)) => format!("{number} of {of}, "),
        _ => String::new(),
    };
    let percent = match phase.total {
        0 => String::new(),
        total => format!("{}%, ", percent(phase.done, total)),
    };
    format!("{place}{}: {percent}{}", phase.name, message(phase, now))
}

fn percent(done: u64, total: u64) -> u128 {
    u128::from(done.min(total)) * 100 / u128::from(total.max(1))
}

/// The most important part comes first: a narrow terminal cuts off the rest.
fn message(phase: &Phase, now: Instant) -> String {
    let mut parts = vec![];
    let amount = |amount| match phase.unit {
        "" => bytes(amount),
        unit => format!("{} {unit}", grouped(amount)),
    };
    match (&phase.blocks, phase.done, phase.total) {
        (Some(blocks), ..) => parts.push(format!("block {}", grouped(blocks.number))),
        (None, 0, 0) => {}
        (None, done, 0) => parts.push(amount(done)),
        (None, done, total) if phase.unit.is_empty() => {
            parts.push(format!("{} of {}", bytes(done), bytes(total)));
        }
        (None, done, total) => parts.push(format!("{} of {}", grouped(done), amount(total))),
    }
    match phase.seconds_left(now) {
        Some(_) if phase.left() == 0 => parts.push("finishing".into()),
        Some(seconds) => parts.push(format!("{} left", about(seconds))),
        None if phase.total > 0 => {}
        None => {
            let seconds = now.saturating_duration_since(phase.began).as_secs_f64();
            parts.push(format!("{} so far", about(seconds)));
        }
    }
    if let Some(speed) = phase.blocks_per_second(now) {
        parts.push(format!("{} blocks/s", rate(speed)));
    } else if let Some(speed) = phase.per_second(now) {
        parts.push(format!("{}/s", amount(speed as u64)));
    }
    if let Some(number) = phase.blocks.and_then(|blocks| blocks.committed) {
        parts.push(format!("{} committed", grouped(number)));
    }
    parts.extend(Some(phase.detail.clone()).filter(|detail| !detail.is_empty()));
    parts.join(", ")
}

/// A time without a precision that no estimate has.
fn about(seconds: f64) -> String {
    // in steps of five from 30 seconds on
    let seconds = seconds.min(1e9) as u64 + 1;
    match seconds {
        ..=30 => format!("{seconds} s"),
        31..=90 => format!("{} s", seconds.next_multiple_of(5)),
        91..=5400 => format!("{} min", seconds.div_ceil(60)),
        5401..=172_800 => {
            let minutes = seconds.div_ceil(600) * 10;
            format!("{} h {} min", minutes / 60, minutes % 60)
        }
        _ => format!("{} days", seconds.div_ceil(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_pipeline::live::SECONDS;

    fn after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_committed_is_said_next_to_what_is_verified() {
        let live = Live::default();
        live.plan(&["index", "verify bodies"]);
        live.enter("verify bodies", 1_000_000);
        let report = |number, bytes, committed| {
            let blocks = number + 1;
            let total_bytes = None;
            let execution = None;
            live.progress(&Progress { number, blocks, bytes, total_bytes, committed, execution });
        };
        report(0, 0, None);
        report(12_288, 500_000, Some(10_240));
        let text = line(&live.phase().unwrap(), after(10));
        assert!(text.starts_with("2 of 2, verify bodies: 50%, block 12,288, "), "{text}");
        assert!(text.contains(" s left, 1,2"), "{text}");
        assert!(text.ends_with(" blocks/s, 10,240 committed"), "{text}");
        report(13_000, 1_000_000, None);
        let text = line(&live.phase().unwrap(), after(10));
        assert!(text.contains("finishing") && !text.contains("committed"), "{text}");
    }

    #[test]
    fn work_of_unknown_size_says_how_long_it_takes() {
        let live = Live::default();
        live.enter("open", 0);
        assert_eq!(line(&live.phase().unwrap(), after(4)), "open: 5 s so far");
        live.count("unwind", "blocks", 0);
        live.advance(1);
        live.advance(1_999);
        let text = line(&live.phase().unwrap(), after(100));
        assert!(text.starts_with("unwind: 2,000 blocks, 2 min so far, "), "{text}");
    }

    #[test]
    fn what_ends_after_a_time_says_how_much_of_it_has_passed() {
        let live = Live::default();
        live.count("measure", SECONDS, 30);
        live.detail("run 4: default".into());
        assert_eq!(
            line(&live.phase().unwrap(), after(1)),
            "measure: 0%, 0 of 30 s, run 4: default"
        );
    }

    #[test]
    fn times_have_no_precision_that_nobody_knows() {
        for (seconds, expected) in [
            (0.2, "1 s"),
            (29.5, "30 s"),
            (41.0, "45 s"),
            (89.9, "90 s"),
            (600.5, "11 min"),
            (7_300.0, "2 h 10 min"),
            (900_000.0, "11 days"),
            (f64::INFINITY, "11575 days"),
        ] {
            assert_eq!(about(seconds), expected);
        }
    }
}
