//! Ctrl-C and SIGTERM: every command ends within a second, and reports what it leaves.
//!
//! A command that has something to finish polls [`cancel`] and ends by itself. A command that
//! cannot poll, because it waits for a pipe, for a lock or for a long calculation, is ended from
//! here: nothing that counts as whole is ever half written, and what is half written is removed.

use crate::answer::Answer;
use anyhow::{Context, Result};
use blockmill_archive::output::remove_unfinished;
use blockmill_pipeline::Cancel;
use blockmill_pipeline::disk::{free_bytes, tells_full};
use blockmill_verdict::{FaultReport, Status};
use std::io::{self, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a command may take to end by itself.
const PATIENCE: Duration = Duration::from_millis(600);

/// The message for a command that would lose coins in memory, which are being committed.
const MORE_PATIENCE: Duration = Duration::from_secs(60);

/// What the current command leaves if it is stopped, or if the disk is full.
struct Left {
    words: String,
    patience: Duration,
    /// Where it writes, and about how many bytes are still to come.
    writes: Option<(PathBuf, u64)>,
    /// What resumes or repeats it once there is room.
    again: &'static str,
}

/// What most commands do a second time.
const AGAIN: &str = "make room and give the same command again";

static LEFT: Mutex<Left> =
    Mutex::new(Left { words: String::new(), patience: PATIENCE, writes: None, again: AGAIN });
static CANCEL: OnceLock<Cancel> = OnceLock::new();
/// Ends the processes that this one has started.
static END_OTHERS: OnceLock<fn()> = OnceLock::new();

/// The request to stop of this process: set by the first signal.
pub fn cancel() -> Cancel {
    CANCEL.get_or_init(Cancel::new).clone()
}

/// Says what there will be when the command is stopped, such as "nothing was written".
pub fn leaves(words: impl Into<String>) {
    left().words = words.into();
}

/// Sets what is left by a command that commits its memory before it ends.
pub fn leaves_after_commit(words: impl Into<String>) {
    let mut left = left();
    (left.words, left.patience) = (words.into(), MORE_PATIENCE);
}

/// Says where the command writes, and about how many bytes are still to come there.
pub fn writes(place: &Path, bytes: u64) {
    left().writes = Some((place.to_path_buf(), bytes));
}

/// Says what to do when there was no room and there is some again.
pub fn then(again: &'static str) {
    left().again = again;
}

/// So many of those bytes are still to come.
pub fn still_to_come(bytes: u64) {
    if let Some((_, left)) = &mut left().writes {
        *left = bytes;
    }
}

/// What an import leaves.
pub fn of_store(data: &Path) -> String {
    let data = data.display();
    format!("what was committed to {data} stays; the same command resumes after it")
}

fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `end` at a signal, to end the processes that this one has started. Only the first call has
/// an effect.
pub fn ends_with(end: fn()) {
    let _ = END_OTHERS.set(end);
}

fn end_others() {
    if let Some(end) = END_OTHERS.get() {
        end();
    }
}

/// Did the user ask to stop?
pub fn was_asked() -> bool {
    cancel().is_cancelled()
}

/// The answer of a command that was asked to stop: interrupted, with what is left, if it failed
/// because of that or reports it itself.
pub fn answer(answer: Answer) -> Answer {
    if answer.status.is_success() || answer.kept.is_some() {
        return answer;
    }
    let kept = Some(format!("stopped: {}", left().words));
    match answer.status {
        Status::Interrupted => Answer { kept, error: None, ..answer },
        // the stop explains why it failed
        Status::Environment | Status::Usage => {
            Answer { kept, ..Answer::with_status(Status::Interrupted) }
        }
        _ => answer,
    }
}

/// How a command ended that the disk had no room for: with what is left of it, what is missing, and
/// what a second run does.
pub fn without_room(mut answer: Answer) -> Answer {
    let Some(error) = answer.error.as_mut().filter(|_| answer.status == Status::Environment) else {
        return answer;
    };
    let left = left();
    if answer.kept.is_none() && !left.words.is_empty() {
        answer.kept = Some(left.words.clone());
    }
    if let Some((place, bytes)) = left.writes.as_ref().filter(|_| tells_full(&error.message)) {
        let free = free_bytes(place).map_or_else(|| "an unknown number of bytes".into(), counted);
        let come = match bytes {
            0 => String::new(),
            bytes => format!(", and about {} are to come", counted(*bytes)),
        };
        let (place, again) = (place.display(), left.again);
        error.hint = Some(format!("{free} can still be written to {place}{come}; {again}"));
    }
    answer
}

fn counted(bytes: u64) -> String {
    blockmill_report::counted(bytes, "byte")
}

/// From now on the first signal asks the command to stop, and the second one ends it at once.
pub fn on_signal(command: &str, json: bool) -> Result<()> {
    let _ = COMMAND.set((command.to_owned(), json));
    let (cancel, command) = (cancel(), command.to_owned());
    let end = move || end(&command, json);
    let handler = move || {
        if cancel.is_cancelled() {
            end();
        }
        cancel.cancel();
        blockmill_archive::stop_waiting();
        end_others();
        let patience = left().patience;
        if patience == PATIENCE {
            eprintln!("stopping; press Ctrl-C again to stop at once");
        } else {
            eprintln!("stopping after a commit; press Ctrl-C again to stop at once");
        }
        let at_last = end.clone();
        let later = move || {
            thread::sleep(patience);
            at_last();
        };
        if thread::Builder::new().spawn(later).is_err() {
            end();
        }
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")
}

/// The name of the command, and whether it answers with a document.
static COMMAND: OnceLock<(String, bool)> = OnceLock::new();

/// Ends the process because there is no memory left. No lock is waited for, because the thread may
/// hold it.
pub fn end_without_memory(bytes: Option<usize>) -> ! {
    let more = bytes.map_or_else(|| "a few bytes".into(), |bytes| counted(bytes as u64));
    without_memory(&format!("{more} more were needed"))
}

/// A new thread that finds no memory for the stack of its signal handlers panics in the standard
/// library, before anything of ours runs in it: that is no fault of the program either.
pub fn watch_threads() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        let text = panicked.payload_as_str().unwrap_or_default();
        if text.starts_with("failed to allocate an alternative stack") {
            without_memory("a thread could not begin");
        }
        usual(panicked);
    }));
}

fn without_memory(what: &str) -> ! {
    let message = format!("this machine has no memory left: {what}");
    let kept = LEFT.try_lock().ok().map(|left| left.words.clone());
    let (error, status) = (Some(FaultReport::new(&*message)), Status::Environment);
    if let Some((command, true)) = COMMAND.get() {
        let answer = Answer { error, kept, ..Answer::with_status(status) };
        let document = format!("{:#}\n", answer.document(command));
        let _ = io::stdout().write_all(document.as_bytes());
    } else {
        let text = format!("error: {message}\n{}\n", kept.unwrap_or_default());
        let _ = io::stderr().write_all(text.as_bytes());
    }
    remove_unfinished();
    process::exit(status.exit_code().into())
}

/// Ends the process now.
fn end(command: &str, json: bool) -> ! {
    end_others();
    answer(Answer::with_status(Status::Interrupted)).tell(command, json);
    remove_unfinished();
    process::exit(Status::Interrupted.exit_code().into())
}
