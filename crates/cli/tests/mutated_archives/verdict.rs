//! Runs the program, and holds what it says to what is true.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::MOST_TIME;
use crate::chains::Original;
use crate::oracle::Truth;

/// What the program said.
pub struct Run {
    pub code: Option<i32>,
    pub status: String,
    pub message: String,
    pub stdout: String,
    pub stderr: String,
    pub time: Duration,
    document: Option<Value>,
}

/// Verifies what lies in `folder`.
pub fn run(original: &Original, folder: &Path, trusted: bool) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockmill"));
    command.args(["verify", "--json", "--threads", "1"]).args(&original.flags);
    if let Some(tip) = original.tip.as_ref().filter(|_| trusted) {
        command.args(["--trust", tip]);
    }
    command.arg(original.target).current_dir(folder).stdin(Stdio::null());
    let start = Instant::now();
    let output = command.output().expect("the program starts");
    let time = start.elapsed();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Option<Value> = serde_json::from_str(&stdout).ok();
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or("").to_owned();
    let status = text(document.as_ref().and_then(|document| document.get("status")));
    let message = text(document.as_ref().and_then(|document| document.pointer("/error/message")));
    Run { code: output.status.code(), status, message, stdout, stderr, time, document }
}

/// The exit code of each status that corruption may end with.
const CODES: [(&str, i32); 6] = [
    ("verified", 0),
    ("invalid", 1),
    ("usage", 2),
    ("incomplete", 3),
    ("corrupt", 4),
    ("unrecognised", 6),
];

/// Everything that is wrong with a verdict.
pub fn check(run: &Run, truth: &Truth) -> Vec<String> {
    let mut faults = vec![];
    let mut expect = |holds: bool, fault: String| {
        if !holds {
            faults.push(fault);
        }
    };
    let panicked = run.stderr.contains("panicked") || run.stdout.contains("panicked");
    expect(!panicked, format!("a panic: {}", run.stderr));
    expect(run.time < MOST_TIME, "too slow".into());
    expect(run.document.is_some(), format!("no JSON document: {:.300}", run.stdout));
    let code = CODES.iter().find(|(status, _)| *status == run.status).map(|(_, code)| *code);
    expect(code.is_some(), format!("status {:?} of damage", run.status));
    expect(code.is_none() || code == run.code, format!("exit code {:?}", run.code));
    let verified = run.status == "verified";
    let last = run.document.as_ref().and_then(|document| document.pointer("/result/data/last"));
    let last = last.and_then(Value::as_u64);
    match truth {
        Truth::Broken(why) => expect(!verified, format!("verified, but {why}")),
        Truth::Same { last: expected, must } => {
            expect(verified || !must, "not verified".into());
            expect(!verified || last == Some(*expected), format!("ends at {last:?}"));
        }
        Truth::Part { from, last: expected } => {
            expect(!verified || last == Some(*expected), format!("ends at {last:?}"));
            let anchor = run.document.as_ref();
            let anchor =
                anchor.and_then(|document| document.pointer("/result/result/anchor/number"));
            let anchor = anchor.and_then(Value::as_u64);
            expect(!verified || anchor == *from, format!("verified from {anchor:?}"));
        }
        Truth::Unknown { last: expected } => {
            let path = "/result/result/unchecked";
            let unchecked = run.document.as_ref().and_then(|document| document.pointer(path));
            let names = unchecked.is_some_and(|it| it.to_string().contains("of unknown types"));
            expect(!verified || last == Some(*expected), format!("ends at {last:?}"));
            expect(!verified || names, "verified, and an unknown record is not named".into());
        }
        Truth::LastHeader => {}
    }
    faults
}
