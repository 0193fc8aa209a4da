//! What a bench does, on standard error: lines, and between them a spinner on a terminal, or a line
//! every ten seconds. Generating data, building programs and single runs can take minutes.

use crate::comparison::rough;
use blockmill_cli::print::{self, Detail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two lines, where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often the state is looked at.
const TICK: Duration = Duration::from_millis(200);

/// What the bench does now.
struct State {
    /// In a few words; empty if nothing does.
    doing: String,
    /// What is done so far, in a line that replaces the one before.
    passed: String,
    /// When it began, and when a line was printed last.
    times: Option<(Instant, Instant)>,
    /// Drawn on a terminal.
    bar: Option<ProgressBar>,
}

/// A process measures for one command line.
static STATE: Mutex<State> =
    Mutex::new(State { doing: String::new(), passed: String::new(), times: None, bar: None });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints a line.
pub fn line(text: &str) {
    if print::detail() == Detail::Quiet {
        return;
    }
    let mut state = state();
    let print = || print::err(format_args!("{text}\n"));
    match &state.bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
    state.printed(Instant::now());
}

/// Says what is done so far: on a terminal in the line of the spinner, elsewhere every ten seconds.
pub fn passed(text: &str) {
    let mut state = state();
    text.clone_into(&mut state.passed);
    if state.bar.is_none()
        && let Some(text) = state.due(Instant::now())
    {
        print::err(format_args!("{text}\n"));
    }
}

/// Says the current activity, in a few words.
pub fn doing(what: &str) {
    state().begin(what, Instant::now());
}

impl State {
    fn begin(&mut self, what: &str, now: Instant) {
        what.clone_into(&mut self.doing);
        self.times = Some((now, self.times.map_or(now, |(_, printed)| printed)));
    }

    fn printed(&mut self, now: Instant) {
        self.times = Some((self.times.map_or(now, |(began, _)| began), now));
    }

    /// What is done, and for how long already.
    fn text(&self, now: Instant) -> Option<String> {
        let (began, _) = self.times.filter(|_| !self.doing.is_empty())?;
        let passed = now.saturating_duration_since(began).as_secs();
        let passed = if passed > 0 { format!(", {}", rough(passed as f64)) } else { String::new() };
        let before = if self.passed.is_empty() { "" } else { "; " };
        Some(format!("{}{before}{}{passed}", self.passed, self.doing))
    }

    /// The line to print where nothing was printed for a while.
    fn due(&mut self, now: Instant) -> Option<String> {
        let (_, printed) = self.times?;
        let text = self.text(now)?;
        (now.saturating_duration_since(printed) >= LINE_EVERY).then(|| {
            self.printed(now);
            text
        })
    }
}

/// Shows what is done until it is dropped.
pub struct Shown {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    /// Begins to show it; nothing where only errors are wanted.
    #[must_use]
    pub fn begin() -> Self {
        if print::detail() == Detail::Quiet {
            return Self { stop: None, thread: None };
        }
        if std::io::stderr().is_terminal() {
            let draw = ProgressDrawTarget::stderr_with_hz(10);
            let bar = ProgressBar::with_draw_target(None, draw);
            let style = ProgressStyle::with_template("{spinner} {wide_msg}");
            state().bar =
                Some(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner())));
        }
        let (stop, stopped) = channel();
        Self { stop: Some(stop), thread: Some(thread::spawn(move || watch(&stopped))) }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // it has nothing to return
            let _ = thread.join();
        }
        let mut state = state();
        state.doing.clear();
        state.passed.clear();
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Shows the state again and again until the other end of `stopped` is gone.
fn watch(stopped: &Receiver<()>) {
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let mut state = state();
        let now = Instant::now();
        if let Some(bar) = &state.bar {
            bar.set_message(state.text(now).unwrap_or_default());
            bar.tick();
        } else if let Some(text) = state.due(now) {
            print::err(format_args!("{text}\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_when_nothing_was_printed_for_ten_seconds() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let (doing, passed) = (String::new(), String::new());
        let mut state = State { doing, passed, times: None, bar: None };
        assert_eq!(state.due(at(100)), None);
        state.begin("generating headers", start);
        state.printed(start);
        assert_eq!(state.due(at(9)), None);
        assert_eq!(state.due(at(10)).as_deref(), Some("generating headers, 10 s"));
        assert_eq!(state.due(at(19)), None, "one was printed");
        state.begin("run 2: default", at(15));
        assert_eq!(state.due(at(21)).as_deref(), Some("run 2: default, 6 s"));
        "3 s of 30 s".clone_into(&mut state.passed);
        assert_eq!(state.due(at(31)).as_deref(), Some("3 s of 30 s; run 2: default, 16 s"));
        state.passed.clear();
        state.begin("", at(22));
        assert_eq!(state.due(at(90)), None, "nothing is done");
    }
}
