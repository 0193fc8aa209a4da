//! `import --follow`: an import that continues while its archive grows.
//!
//! A round is the usual import of what is there: it resumes after the last block of the store, and
//! the store is closed after it. Files that cannot be opened before they are whole are left out of
//! a round. Between rounds the files of the archive are listed every second; a change of a name, a
//! length or a time starts the next round. `verdict.rs` decides what the end of a round means: that
//! more is to come, or that the import ends with it.

mod verdict;

use crate::answer::{Answer, Payload};
use crate::args::{Import, Verification};
use crate::import::{Run, default_record, family, import, save, show};
use crate::next;
use crate::paths::expect_folder;
use crate::serve::{self, Server};
use crate::stop;
use anyhow::{Result, bail, ensure};
use blockmill_archive::growing::{self, Growth, Seen};
use blockmill_archive::{Family, is_pipe};
use blockmill_pipeline::Cancel;
use blockmill_pipeline::record::{Rounds, RunRecord, unix_time};
use blockmill_platform::remote::is_remote;
use blockmill_report::duration;
use blockmill_verdict::{FaultReport, Shortfall, ShortfallKind, Status, counted, grouped};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use verdict::Verdict;

/// The shortest time between two listings of the files.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// Listings of many files take at most this part of the time.
const LISTING_SHARE: u32 = 20;
/// How soon a request to stop is seen.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// After a round there is a pause as long as the round, and at most this long.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A file may change again without another time of change for so long. The coarsest times of file
/// systems in use count two seconds (FAT).
const UNSETTLED: Duration = Duration::from_secs(2);
/// Sentences that are shown of what a run waits for.
const SHOWN: usize = 10;

/// What the rounds of an import share.
pub struct Round {
    /// The live page, where it was asked for.
    pub server: Option<Arc<Server>>,
    /// Whether blocks that the store has are compared with those of the archive.
    pub recheck: bool,
}

/// `blockmill import --follow`.
pub fn run(args: &Import, json: bool, cancel: Cancel) -> Result<Answer> {
    expect_growing(&args.verification.paths)?;
    expect_folder(&args.data)?;
    let mut follower = Follower::new(args, json, cancel)?;
    let mut before = vec![];
    loop {
        let (seen, at) = (growing::list(&args.verification.paths)?, SystemTime::now());
        let began = Instant::now();
        if let Some(answer) = follower.round(&before, &seen, at)? {
            return follower.end(answer);
        }
        if !follower.wait(&seen, at, began.elapsed())? {
            let interrupted = follower.interrupted();
            return follower.end(interrupted);
        }
        before = seen;
    }
}

/// Refuses what cannot grow.
fn expect_growing(paths: &[PathBuf]) -> Result<()> {
    for path in paths {
        let shown = path.display();
        ensure!(!is_pipe(path), "--follow {shown}: expected a folder or a file, found a pipe");
        ensure!(!is_remote(path), "--follow {shown}: expected files of this machine, found a URL");
        if crate::ethereum::snapshot::is_snapshot(path)? {
            bail!("--follow {shown}: expected an archive that grows, found a snapshot");
        }
    }
    Ok(())
}

/// The answer of a round with an archive that does not begin where the store must begin.
pub fn waits_for(text: String) -> Answer {
    let error = Some(FaultReport::new(&*text));
    let shortfalls = vec![Shortfall::new(ShortfallKind::MissingBlocks, text)];
    Answer { error, shortfalls, ..Answer::with_status(Status::Incomplete) }
}

/// The state between rounds. None of it grows with the rounds.
struct Follower<'a> {
    args: &'a Import,
    json: bool,
    cancel: Cancel,
    server: Option<Arc<Server>>,
    /// Files that could be opened, as they were then.
    whole: HashMap<PathBuf, Seen>,
    rounds: Rounds,
    /// The record of the last round that stored blocks, and where it is.
    record: Option<(Box<RunRecord>, PathBuf)>,
    record_to: PathBuf,
    /// The last block of the store, and the sentence about it.
    committed: Option<u64>,
    kept: Option<String>,
    /// Whether the next round compares blocks that the store has with those of the archive.
    recheck: bool,
    /// The error of the last round, if it may have been that of a file in change.
    doubt: Option<String>,
    /// What was said last of what the run waits for.
    said: Vec<String>,
}

impl<'a> Follower<'a> {
    fn new(args: &'a Import, json: bool, cancel: Cancel) -> Result<Self> {
        let asked = &args.verification;
        let label = asked.label.as_deref().unwrap_or("import");
        let about = || serve::about(label, ("", ""), (&asked.paths, 0));
        let start = |address| serve::start(address, cancel.live().clone(), about());
        let server = asked.serve.map(start).transpose()?.map(Arc::new);
        Ok(Self {
            args,
            json,
            server,
            whole: HashMap::new(),
            rounds: Rounds { started_unix: unix_time(), ..Rounds::default() },
            record: None,
            record_to: asked.record.clone().unwrap_or_else(|| default_record(&args.data)),
            committed: None,
            kept: None,
            recheck: true,
            doubt: None,
            said: vec![],
            cancel,
        })
    }

    /// One round; its answer, if the import ends with it.
    fn round(&mut self, before: &[Seen], seen: &[Seen], at: SystemTime) -> Result<Option<Answer>> {
        self.rounds.rounds += 1;
        let rounds = self.rounds.rounds;
        self.cancel.live().follow(|follow| {
            follow.rounds = rounds;
            follow.changed.get_or_insert_with(Instant::now);
        });
        let (paths, mut waiting) = self.whole_files(seen)?;
        if seen.is_empty() {
            let paths = self.args.verification.paths.iter();
            waiting.extend(paths.map(|path| format!("{} has no archive yet", path.display())));
        }
        let mut is_read = true;
        if !paths.is_empty() && !seen.is_empty() {
            self.recheck |= replaced(before, seen);
            let (answer, family) = self.import(paths);
            self.note(&answer);
            let is_settled = || -> Result<bool> {
                let now = growing::list(&self.args.verification.paths)?;
                Ok(now == seen && !is_unsettled(seen, at))
            };
            match verdict::of(&answer, family, &self.args.verification.paths)? {
                Verdict::Ends => return Ok(Some(answer)),
                _ if self.cancel.is_cancelled() => return Ok(Some(self.interrupted())),
                Verdict::Waits(_) if self.has_reached_end(&answer) => return Ok(Some(answer)),
                Verdict::Waits(more) => {
                    (self.doubt, self.recheck) = (None, false);
                    waiting.extend(more);
                }
                Verdict::Doubtful(error) => {
                    if self.doubt.as_ref() == Some(&error) || is_settled()? {
                        return Ok(Some(answer));
                    }
                    (self.doubt, is_read) = (Some(error), false);
                }
            }
        }
        let missing = growing::missing_names(seen).into_iter();
        waiting.extend(missing.map(|name| format!("{name} is missing between other files")));
        self.say(waiting, is_read);
        Ok(None)
    }

    /// The paths of a round: those that were given, or the files in them that can be opened, and
    /// what the others lack.
    fn whole_files(&mut self, seen: &[Seen]) -> Result<(Vec<PathBuf>, Vec<String>)> {
        let given = &self.args.verification.paths;
        let (mut files, mut waiting) = (vec![], vec![]);
        for file in seen.iter().filter(|file| !file.is_part) {
            if self.whole.get(&file.path) == Some(file) {
                files.push(file.path.clone());
                continue;
            }
            match growing::growth(&file.path) {
                Ok(Growth::Whole) => {
                    self.whole.insert(file.path.clone(), file.clone());
                    files.push(file.path.clone());
                }
                Ok(Growth::Unfinished(offset)) => {
                    waiting.push(verdict::cut(&file.path, offset));
                }
                Ok(Growth::Other) => {}
                // renamed or removed since it was listed
                Err(error) if error.status() == Status::Usage => {}
                Err(error) => return Err(error.into()),
            }
        }
        if waiting.is_empty() {
            return Ok((given.clone(), waiting));
        }
        let is_archive =
            |path: &&PathBuf| seen.iter().any(|file| file.is_part && file.path.starts_with(path));
        files.extend(given.iter().filter(is_archive).cloned());
        Ok((files, waiting))
    }

    /// The import of a round, and of which chains its files are, if that can be known.
    fn import(&self, paths: Vec<PathBuf>) -> (Answer, Option<Family>) {
        let verification = Verification { paths, ..self.args.verification.clone() };
        let args = Import { verification, ..self.args.clone() };
        let round = Round { server: self.server.clone(), recheck: self.recheck };
        let (asked, cancel) = (&args.verification, self.cancel.clone());
        let family = match family(asked) {
            Ok(family) => family,
            Err(error) => return (Answer::failed(&error), None),
        };
        let run = Run::of_round(asked, self.json, cancel, round);
        let answer = run.and_then(|run| import(&args, family, run));
        (answer.unwrap_or_else(|error| Answer::failed(&error)), Some(family))
    }

    /// Notes and prints what a round has stored.
    fn note(&mut self, answer: &Answer) {
        let Some(Payload::Record(record)) = &answer.result else { return };
        self.kept = answer.kept.clone().or(self.kept.take());
        if let Some(number) = record.result.committed {
            self.committed = Some(number);
            self.cancel.live().committed(number);
        }
        let blocks = record.data.blocks;
        if blocks == 0 {
            return;
        }
        self.rounds.stored += 1;
        self.rounds.blocks += blocks;
        if !self.json {
            let (first, last) = (grouped(record.data.first), grouped(record.result.tip_number));
            let (blocks, time) = (counted(blocks, "block"), duration(record.wall_s()));
            println!("stored blocks {first} to {last}: {blocks} in {time}");
        }
        let mut record = record.clone();
        record.command = crate::program::command_line();
        record.following = Some(self.rounds.clone());
        let path = self.record_path();
        warn_unless_saved(&record, &path);
        self.record = Some((record, path));
    }

    /// Where the record of this round goes: that of the first round keeps its name.
    fn record_path(&self) -> PathBuf {
        let path = &self.record_to;
        if self.args.verification.record.is_some() || self.rounds.stored == 1 {
            return path.clone();
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        path.with_file_name(format!("{stem}-last.json"))
    }

    /// Whether the block of `--until` is stored.
    fn has_reached_end(&self, answer: &Answer) -> bool {
        let until = self.args.verification.until;
        let is_there = until.is_some_and(|until| self.committed.is_some_and(|it| it >= until));
        is_there && answer.status.is_success()
    }

    /// Says what the run waits for, if that has changed.
    fn say(&mut self, mut waiting: Vec<String>, is_read: bool) {
        if waiting.len() > SHOWN {
            let more = waiting.len() - SHOWN;
            waiting.truncate(SHOWN);
            waiting.push(format!("and for {more} more"));
        }
        if waiting.is_empty() && is_read {
            waiting.push("for new blocks, until Ctrl-C".to_owned());
        }
        self.cancel.live().follow(|follow| {
            follow.waiting.clone_from(&waiting);
            if is_read {
                follow.changed = None;
            }
        });
        if self.said != waiting && !self.json {
            waiting.iter().for_each(|sentence| eprintln!("waiting: {sentence}"));
        }
        self.said = waiting;
    }

    /// Waits until the files are other ones than those in `seen`; false after a request to stop.
    fn wait(&self, seen: &[Seen], at: SystemTime, round: Duration) -> Result<bool> {
        self.cancel.live().leave();
        let (ended, again) = (Instant::now(), self.doubt.is_some() || is_unsettled(seen, at));
        let mut next = ended + LIST_EVERY;
        loop {
            if self.cancel.is_cancelled() {
                return Ok(false);
            }
            thread::sleep(LOOK_EVERY);
            if Instant::now() < next {
                continue;
            }
            let clock = Instant::now();
            let has_changed = growing::list(&self.args.verification.paths)? != seen;
            next = Instant::now() + LIST_EVERY.max(clock.elapsed() * LISTING_SHARE);
            if has_changed {
                self.cancel.live().follow(|follow| {
                    follow.changed.get_or_insert_with(Instant::now);
                });
            }
            if (has_changed || again) && ended.elapsed() >= round.min(LONGEST_PAUSE) {
                return Ok(true);
            }
        }
    }

    /// The answer after a request to stop.
    fn interrupted(&self) -> Answer {
        let nothing = || format!("stopped: {}", stop::of_store(&self.args.data));
        let kept = self.kept.clone().unwrap_or_else(nothing);
        Answer { kept: Some(kept), ..Answer::with_status(Status::Interrupted) }
    }

    /// Reports the rounds, and adds the record of the last one that stored blocks to the answer.
    fn end(self, answer: Answer) -> Result<Answer> {
        let Self { rounds, record, json, .. } = self;
        let kept = answer.kept.filter(|_| !answer.status.is_success());
        let answer = Answer { kept, ..answer };
        if !json {
            let stored = counted(rounds.blocks, "block");
            println!("{stored} stored in {} of {} rounds", rounds.stored, rounds.rounds);
        }
        let Some((mut record, path)) = record else { return Ok(answer) };
        record.following = Some(rounds);
        if !json {
            show(&record, true, None, Some(&next::report_of(&path)));
        }
        // last: a request to stop leaves little time
        warn_unless_saved(&record, &path);
        Ok(Answer { result: Some(Payload::Record(record)), ..answer })
    }
}

/// Saves a record; a failure changes nothing of the import.
fn warn_unless_saved(record: &RunRecord, path: &Path) {
    if let Err(error) = save(record, path) {
        eprintln!("warning: the run record is not saved: {error:#}");
    }
}

/// Whether a file that was there has other bytes now where it had some.
fn replaced(before: &[Seen], seen: &[Seen]) -> bool {
    let before: HashMap<_, _> = before.iter().map(|file| (&file.path, file)).collect();
    seen.iter().any(|file| before.get(&file.path).is_some_and(|before| file.replaces(before)))
}

/// Whether a file was written so shortly before it was listed, at `at`, that it may have changed
/// since without another time of change.
fn is_unsettled(seen: &[Seen], at: SystemTime) -> bool {
    let age = |file: &Seen| at.duration_since(file.written?).ok();
    seen.iter().any(|file| age(file).is_some_and(|age| age < UNSETTLED))
}
