//! Runs a program to its end, within a time limit, and reads what it printed. `bench` has this file
//! as a module of its own.

use blockmill_verdict::Status;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No command of these tests may take longer, whatever its input.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// A command line of `program`: `words` are split at spaces.
pub fn command(program: impl AsRef<Path>, words: &str) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(words.split_whitespace()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs to the end; panics, with the process killed, when that takes too long.
pub fn run(command: &mut Command) -> Ended {
    let child = command.spawn().expect("the program starts");
    wait(child, &format!("{command:?}"))
}

/// Waits for a process that was started.
pub fn wait(mut child: Child, command: &str) -> Ended {
    let start = Instant::now();
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child process") {
            break status;
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill().expect("a process that still runs");
            panic!("{command}: still running after {TIME_LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let text = |thread: thread::JoinHandle<String>| thread.join().expect("text in UTF-8");
    Ended { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

/// Reads a pipe to its end, so that the process never waits for a reader.
fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        // `None` if the test gave the process something else to write to
        pipe.map(|mut pipe| pipe.read_to_string(&mut text).expect("text in UTF-8"));
        text
    })
}

/// Runs a command that must succeed; its standard output.
pub fn succeed(command: &mut Command) -> String {
    let ended = run(command);
    assert_eq!(ended.code, Some(0), "{command:?}\n{}", ended.stderr);
    ended.stdout
}

/// Runs a command that must succeed with `--json`; its own part of the document.
pub fn succeed_json(command: &mut Command) -> serde_json::Value {
    let ended = run(command.arg("--json"));
    assert_eq!(ended.code, Some(0), "{command:?}\n{}", ended.stderr);
    document(&ended)["result"].take()
}

/// The document that a run with `--json` printed; its status is that of the exit code.
pub fn document(ended: &Ended) -> serde_json::Value {
    let text = &ended.stdout;
    let document: serde_json::Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let status: Status = serde_json::from_value(document["status"].clone()).expect("a status");
    assert_eq!(ended.code, Some(status.exit_code().into()), "{text}");
    assert_eq!(document["exit_code"], status.exit_code(), "{text}");
    document
}

/// Runs a command that cannot be meant so: the exit code of usage, and an error on standard error
/// that has every one of `words`. The error's text.
pub fn misunderstand(command: &mut Command, words: &[&str]) -> String {
    let ended = run(command);
    assert_eq!(ended.code, Some(Status::Usage.exit_code().into()), "{command:?} {}", ended.stderr);
    assert!(ended.stderr.starts_with("error: "), "{command:?}: {}", ended.stderr);
    for word in words {
        assert!(ended.stderr.contains(word), "{command:?}: no {word:?} in\n{}", ended.stderr);
    }
    ended.stderr
}

/// A folder for one test, empty at first, removed at the end unless the test fails.
pub struct Scratch(PathBuf);

impl Scratch {
    /// `name` must be that of no other test.
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        if path.exists() {
            fs::remove_dir_all(&path).expect("an old scratch folder");
        }
        fs::create_dir_all(&path).expect("a scratch folder");
        Self(path)
    }

    /// The path of `name` in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
