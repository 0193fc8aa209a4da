//! Commands of the program, run in this process.

use blockmill_cli::library;
use blockmill_pipeline::Cancel;
use blockmill_verdict::Status;
use serde_json::Value;
use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A command line.
#[derive(Clone)]
pub struct Command(Vec<OsString>);

/// How a command ended.
pub struct Ended {
    /// In one word.
    pub status: Status,
    /// The whole document.
    pub document: Value,
    command: String,
}

impl Command {
    /// `words` are split at spaces.
    pub fn new(words: &str) -> Self {
        Self(words.split_whitespace().map(OsString::from).collect())
    }

    /// With more words.
    pub fn words(mut self, words: &str) -> Self {
        self.0.extend(words.split_whitespace().map(OsString::from));
        self
    }

    /// With a path.
    pub fn path(mut self, path: &Path) -> Self {
        self.0.push(path.into());
        self
    }

    /// Runs it to its end.
    pub fn run(&self) -> Ended {
        self.run_with(&Cancel::new())
    }

    /// Runs it, and asks it to stop when it has come so many blocks far.
    pub fn stop_after(&self, blocks: u64) -> Ended {
        let (cancel, done) = (Cancel::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if cancel.live().look().progress.blocks >= blocks {
                        cancel.cancel();
                    }
                    thread::sleep(Duration::from_micros(50));
                }
            });
            let ended = self.run_with(&cancel);
            done.store(true, Ordering::Relaxed);
            ended
        })
    }

    /// Runs it until `cancel` is set.
    pub fn run_with(&self, cancel: &Cancel) -> Ended {
        let text = library::answer(&self.0, cancel);
        let document: Value = serde_json::from_str(&text).expect("a document");
        let status: Status = serde_json::from_value(document["status"].clone()).expect("a status");
        assert_eq!(document["exit_code"], status.exit_code(), "{document:#}");
        Ended { status, document, command: format!("{self}") }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.0.iter().map(|word| word.to_string_lossy()).collect();
        write!(f, "blockmill {}", words.join(" "))
    }
}

impl Ended {
    /// Asserts a status; the command's own part of the document.
    #[track_caller]
    pub fn expect(mut self, status: Status) -> Value {
        let Self { command, document, .. } = &self;
        assert_eq!(self.status, status, "{command}\n{document:#}");
        self.document["result"].take()
    }

    /// Asserts that the command did what it was asked for.
    #[track_caller]
    pub fn succeed(self) -> Value {
        let Self { command, document, .. } = &self;
        assert!(self.status.is_success(), "{command}\n{document:#}");
        let mut document = self.document;
        document["result"].take()
    }

    /// Asserts that the command was refused as it was meant, with each of `words` in its message.
    #[track_caller]
    pub fn refuse(self, words: &[&str]) {
        let Self { command, document, .. } = &self;
        assert_eq!(self.status, Status::Usage, "{command}\n{document:#}");
        let message = self.message();
        for word in words {
            assert!(message.contains(word), "{command}: no {word:?} in {message}");
        }
    }

    /// Did it do what it was asked for, or stop when it was asked to?
    pub fn is_success_or_stop(&self) -> bool {
        self.status.is_success() || self.status == Status::Interrupted
    }

    /// What the error says, and what it advises.
    pub fn message(&self) -> String {
        let error = &self.document["error"];
        let part = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", part("message"), part("hint"))
    }

    /// The whole answer, for messages.
    pub fn reported(&self) -> String {
        format!("{}\n{:#}", self.command, self.document)
    }
}
