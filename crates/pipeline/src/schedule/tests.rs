//! Thousands of simulated runs of random stages without real threads: a seed chooses which thread
//! continues, so every run can be repeated.

use super::*;
use blockmill_testkit::Random;

/// Runs of the simulation.
const RUNS: u64 = 6000;

/// Random stages, and what they do to items.
pub(crate) struct Plan {
    /// The kinds of the stages of each step; the first is reading.
    pub steps: Vec<Vec<StageKind>>,
    pub items: u64,
    pub buffers: usize,
    pub threads: usize,
    seed: u64,
    /// Of 1,000 items in a stage, the numbers of barriers, stops and failures.
    odds: [u64; 3],
}

impl Plan {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut steps = vec![vec![StageKind::Disk]];
        for _ in 0..random.below(6_u32) {
            steps.push(match random.below(6_u32) {
                0 | 1 => vec![StageKind::Serial],
                2 => vec![StageKind::Disk],
                3 | 4 => vec![StageKind::Parallel],
                _ => vec![StageKind::Serial; 2 + random.below(3_usize)],
            });
        }
        let rare = |random: &mut Random, most| if random.coin() { random.below(most) } else { 0 };
        Self {
            steps,
            items: random.below(40),
            buffers: 1 + random.below(9_usize),
            threads: random.below(6),
            seed: random.next_u64(),
            odds: [rare(&mut random, 200), rare(&mut random, 20), rare(&mut random, 20)],
        }
    }

    /// How many stages there are.
    pub fn stages(&self) -> usize {
        self.steps.iter().map(Vec::len).sum()
    }

    /// The stages of each step.
    fn ranges(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let range = |step: &Vec<StageKind>| {
            start += step.len();
            start - step.len()..start
        };
        self.steps.iter().map(range).collect()
    }

    /// The step of a stage.
    pub fn step(&self, stage: usize) -> usize {
        self.ranges().iter().position(|range| range.contains(&stage)).unwrap()
    }

    pub fn kind(&self, stage: usize) -> StageKind {
        let step = self.step(stage);
        self.steps[step][stage - self.ranges()[step].start]
    }

    pub fn is_parallel(&self, stage: usize) -> bool {
        self.kind(stage) == StageKind::Parallel
    }

    /// The result of the item in the stage.
    pub fn done(&self, stage: usize, number: u64) -> Done {
        if stage == READ && number == self.items {
            return Done::End;
        }
        let roll = Random::new(self.seed ^ number << 16 ^ stage as u64).below(1000);
        let [barrier, stop, fail] = self.odds;
        match roll {
            _ if self.is_parallel(stage) => Done::Passed(Flow::Continue),
            _ if roll < fail => Done::Failed,
            _ if stage == READ => Done::Passed(Flow::Continue),
            _ if roll < fail + stop => Done::Passed(Flow::Stop),
            _ if roll < fail + stop + barrier => Done::Passed(Flow::Barrier),
            _ => Done::Passed(Flow::Continue),
        }
    }

    /// How one item after the other would end: the first item that is not finished, and whether
    /// that is because it failed.
    pub fn end(&self) -> (u64, bool) {
        for number in 0.. {
            let all: Vec<Done> = (0..self.stages()).map(|stage| self.done(stage, number)).collect();
            match () {
                () if all[READ] == Done::End => return (number, false),
                () if all.contains(&Done::Failed) => return (number, true),
                () if all.contains(&Done::Passed(Flow::Stop)) => return (number + 1, false),
                () => {}
            }
        }
        unreachable!()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Thread {
    Awake,
    Asleep,
    Busy(Job),
    Gone,
}

/// Threads, and what items have been through.
struct Simulation {
    plan: Plan,
    schedule: Schedule,
    threads: Vec<Thread>,
    /// For each item the stages that it has passed.
    passed: Vec<Vec<usize>>,
    /// For each stage, how many items it took, and the item that is a barrier.
    taken: Vec<u64>,
    barriers: Vec<Option<u64>>,
    wakes: u64,
    jobs: u64,
}

impl Simulation {
    fn new(plan: Plan) -> Self {
        let schedule = Schedule::new(&plan.steps, plan.buffers, plan.threads);
        let disks = plan.steps.iter().flatten().filter(|kind| **kind == StageKind::Disk).count();
        let others = if plan.threads == 0 { 0 } else { plan.threads + disks - 1 };
        let threads = vec![Thread::Awake; others + 1];
        let (taken, barriers) = (vec![0; plan.stages()], vec![None; plan.stages()]);
        Self { plan, schedule, threads, passed: vec![], taken, barriers, wakes: 0, jobs: 0 }
    }

    fn busy(&self) -> impl Iterator<Item = Job> + '_ {
        self.threads.iter().filter_map(|thread| match thread {
            Thread::Busy(job) => Some(*job),
            _ => None,
        })
    }

    /// Some thread that can continue continues.
    fn step(&mut self, random: &mut Random) -> bool {
        let can = |at: &usize| matches!(self.threads[*at], Thread::Awake | Thread::Busy(_));
        let can: Vec<usize> = (0..self.threads.len()).filter(can).collect();
        if can.is_empty() {
            return false;
        }
        let at = random.pick(&can);
        match self.threads[at] {
            Thread::Busy(job) => {
                self.finish(job);
                self.threads[at] = Thread::Awake;
            }
            _ => self.ask(at),
        }
        true
    }

    fn ask(&mut self, at: usize) {
        let (next, wakes) = self.schedule.next(at);
        self.threads[at] = match next {
            Next::Work(job) => {
                self.check(job);
                Thread::Busy(job)
            }
            Next::Sleep => Thread::Asleep,
            Next::Leave => Thread::Gone,
        };
        if let Some(sleeper) = wakes {
            assert_eq!(self.threads[sleeper], Thread::Asleep, "woken twice");
            self.threads[sleeper] = Thread::Awake;
            self.wakes += 1;
        }
        // work that nobody looks for would wait for ever
        let is_lost = self.schedule.find().is_some() && self.threads.contains(&Thread::Asleep);
        assert!(!is_lost || self.threads.contains(&Thread::Awake), "work waits, a thread sleeps");
    }

    /// May this job begin now?
    fn check(&mut self, job: Job) {
        let Job { stage, number, buffer } = job;
        let step = self.plan.step(stage);
        if stage == READ {
            assert!(self.busy().all(|other| other.buffer != buffer), "a buffer in two hands");
            self.passed.resize(number as usize + 1, vec![]);
        }
        if self.plan.kind(stage) != StageKind::Disk {
            let computes = |other: &Job| self.plan.kind(other.stage) != StageKind::Disk;
            let computing = self.busy().filter(computes).count();
            assert!(computing < self.plan.threads.max(1), "more threads compute than may");
        }
        for other in self.busy().filter(|other| other.number == number) {
            assert_eq!(self.plan.step(other.stage), step, "an item in two steps at once");
            assert_ne!(other.stage, stage);
        }
        let passed = &self.passed[number as usize];
        let before = self.plan.ranges()[step].start;
        assert!((0..before).all(|stage| passed.contains(&stage)), "a stage was left out");
        assert!(!passed.contains(&stage), "an item twice in a stage");
        if !self.plan.is_parallel(stage) {
            assert_eq!(self.taken[stage], number, "out of order");
            assert!(self.busy().all(|other| other.stage != stage), "two in a serial stage");
            let all = self.plan.stages();
            let left = |number: u64| self.passed[number as usize].len() == all;
            assert!(self.barriers[stage].is_none_or(left), "it passed a barrier");
        }
        let is_under_way = |passed: &&Vec<usize>| passed.len() < self.plan.stages();
        let under_way = self.passed.iter().filter(is_under_way).count();
        assert!(under_way <= self.plan.buffers, "more items than buffers");
        self.taken[stage] += 1;
        self.jobs += 1;
    }

    fn finish(&mut self, job: Job) {
        let done = self.plan.done(job.stage, job.number);
        if let Done::Passed(flow) = done {
            self.passed[job.number as usize].push(job.stage);
            if flow == Flow::Barrier {
                self.barriers[job.stage] = Some(job.number);
            }
        }
        self.schedule.done(&job, done);
    }
}

#[test]
fn every_interleaving_ends_as_one_item_after_the_other_would() {
    let (mut failed, mut stopped, mut barriers) = (0, 0, 0);
    for seed in 0..RUNS {
        let mut random = Random::new(!seed);
        let mut run = Simulation::new(Plan::new(seed));
        while run.step(&mut random) {}
        assert!(run.threads.iter().all(|thread| *thread == Thread::Gone), "seed {seed}: stuck");
        let (end, has_failed) = run.plan.end();
        assert_eq!(run.schedule.failed(), has_failed.then_some(end), "seed {seed}");
        let all = run.plan.stages();
        let whole = run.passed.iter().take_while(|passed| passed.len() == all).count();
        assert_eq!(whole as u64, end, "seed {seed}");
        assert!(run.wakes <= run.jobs + run.threads.len() as u64, "seed {seed}");
        failed += u64::from(has_failed);
        stopped += u64::from(!has_failed && end < run.plan.items);
        barriers += u64::from(run.barriers.iter().any(Option::is_some));
    }
    assert!(failed > RUNS / 10 && stopped > RUNS / 20 && barriers > RUNS / 5, "{failed} {stopped}");
}

#[test]
fn everybody_leaves_after_an_abort() {
    for seed in 0..RUNS / 4 {
        let mut random = Random::new(!seed);
        let mut run = Simulation::new(Plan::new(seed));
        for _ in 0..random.below(200_u32) {
            run.step(&mut random);
        }
        run.schedule.abort();
        let before = run.jobs;
        // the thread that panicked is awake, and so is at least one of any that work
        if run.threads.contains(&Thread::Awake) || run.busy().next().is_some() {
            while run.step(&mut random) {}
            assert!(run.threads.iter().all(|thread| *thread == Thread::Gone), "seed {seed}");
        }
        assert_eq!(run.jobs, before, "seed {seed}: work was begun after the abort");
    }
}

#[test]
fn unfinished_items_come_in_order_and_begin_with_the_end() {
    let mut seen = 0;
    for seed in 0..RUNS {
        let mut random = Random::new(seed);
        let mut run = Simulation::new(Plan::new(seed));
        let mut numbers = vec![0; run.plan.buffers];
        while run.step(&mut random) {
            for job in run.busy().filter(|job| job.stage == READ) {
                numbers[job.buffer] = job.number;
            }
        }
        let left: Vec<u64> = run.schedule.unfinished().map(|buffer| numbers[buffer]).collect();
        let (end, _) = run.plan.end();
        assert!(left.is_sorted() && left.iter().all(|number| *number >= end), "seed {seed}");
        seen += left.len();
    }
    assert!(seen > 1000, "{seen}");
}

#[test]
fn a_thread_keeps_a_serial_stage_while_it_has_work() {
    // read, prepare, connect, check: four items prepared, one thread
    let steps = [StageKind::Disk, StageKind::Parallel, StageKind::Serial, StageKind::Parallel]
        .map(|kind| vec![kind]);
    let mut schedule = Schedule::new(&steps, 4, 2);
    let take = |schedule: &mut Schedule, thread| match schedule.next(thread).0 {
        Next::Work(job) => job,
        other => panic!("{other:?}"),
    };
    let read: Vec<Job> = (0..4)
        .map(|_| {
            schedule.permits = 0;
            let job = take(&mut schedule, 0);
            schedule.done(&job, Done::Passed(Flow::Continue));
            job
        })
        .collect();
    assert!(read.iter().all(|job| job.stage == READ));
    schedule.permits = 2;
    let prepared: Vec<Job> = (0..2).map(|_| take(&mut schedule, 0)).collect();
    for job in &prepared {
        schedule.done(job, Done::Passed(Flow::Continue));
    }
    let first = take(&mut schedule, 0);
    assert_eq!((first.stage, first.number), (2, 0));
    let other = take(&mut schedule, 1);
    assert_eq!((other.stage, other.number), (1, 2), "connecting is in hand");
    schedule.done(&first, Done::Passed(Flow::Continue));
    let next = take(&mut schedule, 0);
    assert_eq!((next.stage, next.number), (2, 1), "connecting goes on before checking");
}

#[test]
fn one_thread_takes_one_item_through_all_stages_before_it_reads_the_next() {
    let fork = vec![StageKind::Serial; 3];
    let steps = [vec![StageKind::Disk], vec![StageKind::Parallel], fork, vec![StageKind::Disk]];
    let mut schedule = Schedule::new(&steps, 9, 0);
    let mut seen = vec![];
    for _ in 0..18 {
        let (Next::Work(job), None) = schedule.next(0) else { panic!("it sleeps") };
        assert_eq!(job.buffer, 0, "one buffer is enough");
        schedule.done(&job, Done::Passed(Flow::Continue));
        seen.push((job.number, job.stage));
    }
    let expected: Vec<_> = (0..3).flat_map(|n| (0..6).map(move |stage| (n, stage))).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_thread_wakes_one_other_and_only_for_work() {
    let mut schedule = Schedule::new(&[vec![StageKind::Disk], vec![StageKind::Parallel]], 3, 64);
    let (Next::Work(first), None) = schedule.next(0) else { panic!("nothing to read") };
    for thread in 1..=64 {
        assert_eq!(schedule.next(thread), (Next::Sleep, None), "only one reads");
    }
    schedule.done(&first, Done::Passed(Flow::Continue));
    // one item to check for this thread, and reading for one more
    let (Next::Work(check), Some(woken)) = schedule.next(0) else { panic!("nobody is woken") };
    assert_eq!((check.stage, woken), (1, 64));
    assert!(!schedule.is_asleep(64) && schedule.is_asleep(63));
    let (Next::Work(second), None) = schedule.next(64) else { panic!("it wakes too many") };
    assert_eq!((second.stage, second.number), (READ, 1));
}
