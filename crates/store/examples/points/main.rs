//! What an insert and a take of the point store cost, in time and memory, next to a hash map.
//!
//! `cargo run --release -p blockmill-store --example points -- ENGINE [COINS] [MIB]`, where ENGINE
//! is `map`, `points` or `points-untouched`; one engine for each process, because the memory of the
//! process is measured. First COINS outputs are made, then as many more are made and spent: half of
//! the spent ones are young, the others of any age. With MIB too small for all of them the store
//! flushes and the old ones are fetched ahead. Times are those of the thread on its core.

use std::{collections::HashMap, time::Duration};

use blockmill_store::{Fetched, Key, PointOptions, PointStore};

/// Operations between two readings of the clock, like a few blocks.
const BATCH: usize = 16_384;
/// Keys that are touched ahead.
const AHEAD: usize = 128;

/// A moment in the time that this thread has had a core, so that other processes do not count.
struct Moment(Duration);

impl Moment {
    fn now() -> Moment {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Moment(Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap()))
    }

    fn elapsed(&self) -> Duration {
        Moment::now().0 - self.0
    }
}

/// Splitmix64's finaliser.
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

/// The key of coin `n`: three outputs to a transaction.
fn key(n: u64) -> Key {
    let mut key = [0; 36];
    for at in 0..4 {
        key[at * 8..][..8].copy_from_slice(&mix(n / 3 * 4 + at as u64).to_le_bytes());
    }
    key[32] = (n % 3) as u8;
    key
}

/// The coins that are alive, about in the order of age, and the random choice among them.
struct World {
    alive: Vec<u64>,
    made: u64,
    random: u64,
}

impl World {
    fn make(&mut self) -> Key {
        self.alive.push(self.made);
        self.made += 1;
        key(self.made - 1)
    }

    fn spend(&mut self) -> Key {
        self.random = mix(self.random);
        let alive = self.alive.len() as u64;
        let young = self.random.is_multiple_of(2);
        let age = self.random / 2 % if young { alive.min(20_000) } else { alive };
        key(self.alive.swap_remove((alive - 1 - age) as usize))
    }
}

enum Engine {
    Map(HashMap<Key, Vec<u8>>),
    Points(Box<PointStore>, bool),
}

/// Seconds spent in the parts.
#[derive(Default)]
struct Times {
    make: Duration,
    spend: Duration,
    fetch: Duration,
    commit: Duration,
    commits: u32,
}

impl Engine {
    /// Makes and spends a batch of coins.
    fn batch(&mut self, makes: &[Key], spends: &[Key], fetched: &mut Fetched, times: &mut Times) {
        let value = [0x5a; 28];
        let start = Moment::now();
        match self {
            Engine::Map(map) => makes.iter().for_each(|key| {
                map.insert(*key, value.to_vec());
            }),
            Engine::Points(store, touch) => {
                for keys in makes.chunks(AHEAD) {
                    if *touch {
                        store.touch(keys);
                    }
                    keys.iter().for_each(|key| assert!(!store.insert(key, &value).unwrap()));
                }
            }
        }
        times.make += start.elapsed();
        if let Engine::Points(store, _) = self {
            let start = Moment::now();
            store.snapshot().fetch(spends, fetched).unwrap();
            times.fetch += start.elapsed();
        }
        let start = Moment::now();
        let mut out = Vec::new();
        match self {
            Engine::Map(map) => {
                for key in spends {
                    out.clear();
                    out.extend(map.remove(key).unwrap());
                    assert_eq!(out.len(), 28);
                }
            }
            Engine::Points(store, touch) => {
                for (at, key) in spends.iter().enumerate() {
                    if *touch && at % AHEAD == 0 {
                        store.touch(&spends[at..(at + AHEAD).min(spends.len())]);
                    }
                    out.clear();
                    assert!(store.take(key, fetched.hint(at), &mut out).unwrap());
                    assert_eq!(out.len(), 28);
                }
            }
        }
        times.spend += start.elapsed();
        if let Engine::Points(store, _) = self
            && store.wants_flush()
        {
            let start = Moment::now();
            store.commit(b"").unwrap();
            times.commit += start.elapsed();
            times.commits += 1;
        }
    }
}

/// Bytes of the process in memory.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize, or: usize| args.get(at).map_or(or, |arg| arg.parse().unwrap());
    let (coins, mib) = (number(2, 5_000_000), number(3, 8_192));
    let dir = tempfile::tempdir().unwrap();
    let mut engine = match args.get(1).map(String::as_str) {
        Some("map") => Engine::Map(HashMap::new()),
        Some(name @ ("points" | "points-untouched")) => {
            let store = PointStore::open(dir.path(), &PointOptions::new(mib << 20)).unwrap().0;
            Engine::Points(Box::new(store), name == "points")
        }
        _ => panic!("engine: map, points or points-untouched"),
    };
    let mut world = World { alive: Vec::with_capacity(coins + BATCH), made: 0, random: 1 };
    world.alive.resize(coins + BATCH, 0);
    world.alive.clear();
    let (mut makes, mut spends) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let mut fetched = Fetched::default();
    let before = resident();
    let mut times = Times::default();
    for phase in ["make", "make and spend"] {
        let (mut ops, end) = (0, coins / BATCH);
        times = Times::default();
        for _ in 0..end {
            makes.clear();
            spends.clear();
            makes.extend((0..BATCH).map(|_| world.make()));
            if phase != "make" {
                spends.extend((0..BATCH).map(|_| world.spend()));
            }
            engine.batch(&makes, &spends, &mut fetched, &mut times);
            ops += BATCH as u32;
        }
        let ns = |time: Duration| time.as_nanos() as f64 / f64::from(ops);
        let spent = if phase == "make" { 0.0 } else { ns(times.spend) };
        println!("{phase}: insert {:.0} ns, take {spent:.0} ns", ns(times.make));
        if times.commits > 0 {
            let (fetch, commit) = (ns(times.fetch), times.commit.as_secs_f64());
            println!("  fetch {fetch:.0} ns, {} commits in {commit:.2} s", times.commits);
        }
        let per_coin = (resident() - before) as f64 / world.alive.len() as f64;
        println!("  {:.1} bytes of the process for each of {}", per_coin, world.alive.len());
    }
    if let Engine::Points(store, _) = &mut engine {
        let (runs, memory) = (store.snapshot(), store.memory());
        println!(
            "reports {:.1} bytes a coin, {} in all",
            memory as f64 / store.len() as f64,
            memory
        );
        println!(
            "{} runs, {} pages read, {} B",
            runs.count(),
            fetched.pages_read(),
            runs.disk_bytes()
        );
        let (start, entries) = (Moment::now(), store.changes());
        store.commit(b"").unwrap();
        let seconds = start.elapsed().as_secs_f64();
        println!("last commit: {entries} entries in {seconds:.2} s");
        assert_eq!(store.len(), world.alive.len() as u64);
        let (start, mut count, mut points) = (Moment::now(), 0, store.iter().unwrap());
        while points.next().unwrap().is_some() {
            count += 1;
        }
        println!("read all {count} in {:.2} s", start.elapsed().as_secs_f64());
    }
    let _ = times;
}
