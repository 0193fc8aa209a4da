//! Every target on its seeds and on mutations of them, without libFuzzer: what continuous
//! integration can run on a stable compiler. The same inputs on every run.

use blockmill_fuzz::{TARGETS, Target, seeds};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A byte, often one at which encodings change.
    fn byte(&mut self) -> u8 {
        let edges = [0x00, 0x01, 0x7f, 0x80, 0xb7, 0xb8, 0xbf, 0xc0, 0xf7, 0xf8, 0xff];
        match self.below(2) {
            0 => edges[self.below(edges.len())],
            _ => self.next() as u8,
        }
    }

    /// A few changes to a seed, or noise.
    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if self.below(16) == 0 {
            let len = self.below(300);
            return (0..len).map(|_| self.byte()).collect();
        }
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(3) {
            self.mutate(&mut input);
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len());
        let end = at + self.below((input.len() - at).min(40));
        // most changes keep the length: lengths of lists and offsets then stay right
        match self.below(12) {
            0..4 if !input.is_empty() => input[at] ^= 1 << self.below(8),
            4..8 if !input.is_empty() => input[at] = self.byte(),
            8 => input.insert(at, self.byte()),
            9 => drop(input.drain(at..end)),
            10 => {
                let copy = input[at..end].to_vec();
                let to = self.below(input.len());
                input.splice(to..to, copy);
            }
            _ => input.truncate(at),
        }
    }
}

/// Keeps an input that a target does not survive, where cargo-fuzz keeps such inputs.
fn feed(target: &Target, input: &[u8]) -> bool {
    catch_unwind(AssertUnwindSafe(|| (target.run)(input))).unwrap_or_else(|_| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts").join(target.name);
        let path = folder.join("smoke");
        fs::create_dir_all(&folder).unwrap();
        fs::write(&path, input).unwrap();
        panic!("{}: see above; the input is in {}", target.name, path.display());
    })
}

#[test]
fn every_target_accepts_its_seeds() {
    for target in TARGETS {
        for (i, seed) in seeds::of(target.name).iter().enumerate() {
            assert!(feed(&target, seed), "{}: seed {i}", target.name);
        }
    }
}

#[test]
fn no_target_panics_on_mutated_seeds() {
    let next = AtomicUsize::new(0);
    let take_targets = || {
        while let Some(target) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let seeds = seeds::of(target.name);
            let mut random = Random(target.name.len() as u64);
            let inputs = (0..target.smoke_inputs).map(|_| random.input(&seeds));
            let accepted = inputs.filter(|input| feed(target, input)).count();
            println!("{}: {accepted} of {} inputs accepted", target.name, target.smoke_inputs);
        }
    };
    thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(take_targets)).collect();
        for thread in threads {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
}

#[test]
fn every_target_has_a_program() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut programs: Vec<_> = fs::read_dir(here.join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name.to_string()).collect();
    programs.sort();
    names.sort();
    assert_eq!(programs, names);
    let manifest = fs::read_to_string(here.join("Cargo.toml")).unwrap();
    for name in names {
        let program = fs::read_to_string(here.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("blockmill_fuzz::{name}(data)")), "{name}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
