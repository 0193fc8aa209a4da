//! Sends signals to a program at work. `bench` has this file as a module of its own.

#![cfg(target_os = "linux")]

use super::process::{Ended, wait};
use std::fs;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// From the signal to the end, on a busy machine too.
pub const LIMIT: Duration = Duration::from_millis(1_000);
/// How often a process may miss it, because others had the CPU meanwhile.
const TRIES: u32 = 4;

pub fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status().expect("kill");
    assert!(sent.success());
}

/// Waits until the process listens for SIGINT and SIGTERM: a busy machine takes its time to start
/// one.
pub fn wait_until_it_listens(child: &mut Child) {
    let listens = 1 << (2 - 1) | 1 << (15 - 1);
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        assert!(start.elapsed() < Duration::from_secs(30), "it never listened for signals");
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if mask.is_some_and(|mask| mask & listens == listens) {
            return;
        }
        sleep(Duration::from_millis(1));
    }
}

/// Sends signals after a while; how the process ended, if it had not ended before. It is tried
/// again where the machine is too busy to tell.
pub fn stopped(program: &dyn Fn() -> Command, after: Duration, signals: &[&str]) -> Option<Ended> {
    let words = format!("{:?}", program());
    let mut took = Duration::ZERO;
    for _ in 0..TRIES {
        let mut child = program().spawn().expect("the program starts");
        wait_until_it_listens(&mut child);
        sleep(after);
        if child.try_wait().expect("a child").is_some() {
            return None;
        }
        let sent = Instant::now();
        signals.iter().for_each(|signal| send(signal, &child));
        let ended = wait(child, &words);
        took = sent.elapsed();
        if ended.code == Some(0) {
            // it was about to end
            return None;
        }
        assert_eq!(ended.code, Some(130), "{words}: {}{}", ended.stdout, ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{words}: {}", ended.stderr);
        if took < LIMIT {
            return Some(ended);
        }
    }
    panic!("{words}: {took:?} from the signal to the end, {TRIES} times");
}

/// Stops a command at several moments, and where it always ended before (others may have the CPU
/// between the look at it and the signal) some times more at once; at least one signal must meet it
/// at work. `check` sees each end.
pub fn stop(program: &dyn Fn() -> Command, check: impl Fn(&Ended)) {
    let moments = [0, 10, 20, 60, 80, 300, 900];
    let again = [0; 20];
    let mut met = 0;
    for (i, millis) in moments.into_iter().chain(again).enumerate() {
        if i >= moments.len() && met > 0 {
            break;
        }
        let signal = ["INT", "TERM"][i % 2];
        if let Some(ended) = stopped(program, Duration::from_millis(millis), &[signal]) {
            check(&ended);
            met += 1;
        }
    }
    assert!(met > 0, "{:?}: it always ended before the signal", program());
}
