//! Holds every width to libsecp256k1, and to AWS-LC for P-256, and all to what the makers of the
//! cases know.

use blockmill_signatures::{
    EcdsaCheck, Key, Recovery, SchnorrCheck, Signatures, TweakCheck, Width,
};
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use super::{Generator, Kind, ecdsa, p256, recovery, schnorr, tweak};
use blockmill_testkit::hex;

/// The longest batch: more than two of the lanes' own.
const LONGEST: usize = 600;

/// An operation to verify. Each part of the work is about one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Ecdsa,
    Schnorr,
    Recovery,
    Tweak,
    P256,
}

impl Operation {
    pub const ALL: [Operation; 5] = [
        Operation::Ecdsa,
        Operation::Schnorr,
        Operation::Recovery,
        Operation::Tweak,
        Operation::P256,
    ];
}

/// The number of cases of a part.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub random: usize,
    pub structured: usize,
}

/// The results of the cases so far.
#[derive(Default)]
pub struct Tally {
    /// Cases that are valid, or have a key, and others; of each kind, whether it is random or not.
    pub kinds: BTreeMap<(Operation, bool, &'static str), [u64; 2]>,
    /// How long it took to make the cases, and to verify them in each way.
    pub times: BTreeMap<(Operation, String), Duration>,
    /// How long batches of nothing but one kind took in each way.
    pub alike: BTreeMap<(Operation, &'static str, String), Duration>,
    pub batches: u64,
}

impl Tally {
    /// Adds what came of other cases.
    pub fn add(&mut self, other: Tally) {
        for (kind, counts) in other.kinds {
            let sum = self.kinds.entry(kind).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        for (way, time) in other.times {
            *self.times.entry(way).or_default() += time;
        }
        for (way, time) in other.alike {
            *self.alike.entry(way).or_default() += time;
        }
        self.batches += other.batches;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for operation in Operation::ALL {
            let mut sums = [[0; 2]; 2];
            for ((of, is_random, name), counts) in &self.kinds {
                if *of == operation {
                    let sort = if *is_random { "random" } else { "structured" };
                    let [good, bad] = counts;
                    write!(f, "{of:?}, {sort}, {name}: {good} good, {bad} bad")?;
                    self.write_alike(f, operation, name)?;
                    let sum = &mut sums[usize::from(*is_random)];
                    sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                }
            }
            let cases: u64 = sums.iter().flatten().sum();
            if cases > 0 {
                let [structured, random] = sums.map(|[good, bad]| {
                    let cases = good + bad;
                    format!("{cases} cases, {good} good, {bad} bad")
                });
                writeln!(f, "{operation:?}, all random: {random}")?;
                writeln!(f, "{operation:?}, all structured: {structured}")?;
            }
            for ((of, way), time) in &self.times {
                if *of == operation {
                    let micros = time.as_secs_f64() * 1e6 / cases as f64;
                    let seconds = time.as_secs_f64();
                    writeln!(f, "{of:?}, {way}: {seconds:.1} s, {micros:.2} us a case")?;
                }
            }
        }
        writeln!(f, "{} batches of 1 to {LONGEST}", self.batches)
    }
}

impl Tally {
    /// Times of a kind in proportion to those of the library. They tell whether the lanes decide
    /// it, or work for nothing before the library does.
    fn write_alike(&self, f: &mut fmt::Formatter<'_>, of: Operation, kind: &str) -> fmt::Result {
        let times = self.alike.iter().filter(|((o, k, _), _)| *o == of && *k == kind);
        let times: Vec<_> = times.map(|((.., way), time)| (way, time.as_secs_f64())).collect();
        if let Some((_, library)) = times.iter().find(|(way, _)| *way == LIBRARY) {
            for (way, time) in times.iter().filter(|(way, _)| *way != LIBRARY) {
                write!(f, ", {way} x {:.2}", time / library)?;
            }
        }
        writeln!(f)
    }
}

/// The oracle's name.
const LIBRARY: &str = "scalar";

/// A way to verify and its name.
pub type Way = (String, Signatures);

/// The ways to verify that this CPU has, but for the oracle: lanes that take every signature, and
/// lanes that leave the work to the library when they decide too few, unless `lanes_only`.
pub fn ways(lanes_only: bool) -> Vec<Way> {
    let others = Width::ALL.into_iter().filter(|width| *width != Width::Scalar);
    let each = others.filter_map(Signatures::with).flat_map(|signatures| {
        let name = signatures.width().name();
        let all = (name.to_string(), signatures.at_any_cost());
        let accounted = (format!("{name} as the account allows"), signatures);
        [Some(all), (!lanes_only).then_some(accounted)].into_iter().flatten()
    });
    each.collect()
}

/// Two different answers, with all that is known about the case.
pub struct Difference(String);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes the cases of one part, which follow from its seed, and verifies them in every way.
pub fn part(
    operation: Operation,
    cases: &mut Generator,
    ways: &[Way],
    seed: u64,
    share: Share,
    tally: &mut Tally,
) -> Result<(), Difference> {
    cases.begin(seed);
    let mut part = Part { operation, cases, ways, seed, share, tally };
    match operation {
        Operation::Ecdsa => part.run(&ecdsa::KINDS, Signatures::ecdsa, show_ecdsa),
        Operation::Schnorr => part.run(&schnorr::KINDS, Signatures::schnorr, show_schnorr),
        Operation::Recovery => part.run(&recovery::KINDS, Signatures::recover, show_recovery),
        Operation::Tweak => part.run(&tweak::KINDS, Signatures::tweaks, show_tweak),
        Operation::P256 => part.run(&p256::KINDS, p256::verify, show_ecdsa),
    }
}

struct Part<'a> {
    operation: Operation,
    cases: &'a mut Generator,
    ways: &'a [Way],
    seed: u64,
    /// The remaining work.
    share: Share,
    tally: &'a mut Tally,
}

/// An answer: whether a check is valid, or the key that was recovered.
trait Answer: Clone + Default + PartialEq + fmt::Debug {
    fn is_good(&self) -> bool;
    fn opposite(&self) -> Self;
}

impl Answer for bool {
    fn is_good(&self) -> bool {
        *self
    }

    fn opposite(&self) -> Self {
        !self
    }
}

impl Answer for Option<[u8; 64]> {
    fn is_good(&self) -> bool {
        self.is_some()
    }

    fn opposite(&self) -> Self {
        if self.is_some() { None } else { Some([0; 64]) }
    }
}

/// A batch of cases and the answers of the library.
struct Batch<'a, T, U> {
    kinds: Vec<&'a Kind<T, U>>,
    items: Vec<T>,
    expected: Vec<U>,
}

impl Part<'_> {
    fn run<T, U: Answer>(
        &mut self,
        kinds: &[Kind<T, U>],
        verify: fn(&Signatures, &[T], &mut [U]),
        show: fn(&T) -> String,
    ) -> Result<(), Difference> {
        while self.share.random + self.share.structured > 0 {
            let begin = Instant::now();
            let kinds = self.choose(kinds);
            let cases = kinds.iter().map(|kind| (kind.make)(self.cases));
            let (items, known): (Vec<T>, Vec<_>) = cases.unzip();
            *self.tally.times.entry((self.operation, "making".into())).or_default() +=
                begin.elapsed();
            let expected = vec![U::default(); items.len()];
            let mut batch = Batch { kinds, items, expected };
            let begin = Instant::now();
            verify(&Signatures::scalar(), &batch.items, &mut batch.expected);
            self.spent(LIBRARY, &batch, begin);
            for (i, (known, expected)) in known.iter().zip(&batch.expected).enumerate() {
                if let Some(known) = known.as_ref().filter(|known| *known != expected) {
                    let what = format!("its maker knows {known:?}, the library says {expected:?}");
                    return Err(self.difference(&batch, i, show, &what));
                }
            }
            for way in self.ways {
                self.compare(way, &batch, verify, show)?;
            }
            for (kind, answer) in batch.kinds.iter().zip(&batch.expected) {
                let key = (self.operation, kind.is_random, kind.name);
                self.tally.kinds.entry(key).or_default()[usize::from(!answer.is_good())] += 1;
            }
            self.tally.batches += 1;
        }
        Ok(())
    }

    fn compare<T, U: Answer>(
        &mut self,
        (name, signatures): &Way,
        batch: &Batch<T, U>,
        verify: fn(&Signatures, &[T], &mut [U]),
        show: fn(&T) -> String,
    ) -> Result<(), Difference> {
        // an answer that is never written must be a wrong one
        let mut found: Vec<U> = batch.expected.iter().map(U::opposite).collect();
        let begin = Instant::now();
        verify(signatures, &batch.items, &mut found);
        self.spent(name, batch, begin);
        let Some(i) = found.iter().zip(&batch.expected).position(|(a, b)| a != b) else {
            return Ok(());
        };
        let (found, expected) = (&found[i], &batch.expected[i]);
        let mut alone = [expected.opposite()];
        verify(signatures, &batch.items[i..=i], &mut alone);
        let [alone] = alone;
        let what = format!("{name} says {found:?}, alone {alone:?}, the library {expected:?}");
        Err(self.difference(batch, i, show, &what))
    }

    fn spent<T, U>(&mut self, way: &str, batch: &Batch<T, U>, begin: Instant) {
        let (operation, time) = (self.operation, begin.elapsed());
        *self.tally.times.entry((operation, way.into())).or_default() += time;
        let name = batch.kinds[0].name;
        if batch.kinds.iter().all(|kind| kind.name == name) {
            *self.tally.alike.entry((operation, name, way.into())).or_default() += time;
        }
    }

    fn difference<T, U>(
        &self,
        batch: &Batch<T, U>,
        i: usize,
        show: fn(&T) -> String,
        what: &str,
    ) -> Difference {
        Difference(format!(
            "{:?}, \"{}\", case {i} of a batch of {} in the part of seed {}:\n{what}\n{}",
            self.operation,
            batch.kinds[i].name,
            batch.items.len(),
            self.seed,
            show(&batch.items[i]),
        ))
    }

    /// The kinds of the next batch, each at a random place.
    fn choose<'k, T, U>(&mut self, kinds: &'k [Kind<T, U>]) -> Vec<&'k Kind<T, U>> {
        let left = self.share.random + self.share.structured;
        // a good many that fill less than a few vectors
        let longest = if self.cases.random.below(4) == 0 { 40 } else { LONGEST };
        let length = (1 + self.cases.random.below(longest)).min(left);
        let (mixture, bad) = (self.cases.random.below(5), self.cases.random.below(length));
        let (random, structured) = kinds.split_at(kinds.partition_point(|kind| kind.is_random));
        let only = &structured[self.cases.random.below(structured.len())];
        let choose = |i| {
            let is_random = match mixture {
                0 => true,
                1 => i != bad,
                2 => self.cases.random.coin(),
                _ => false,
            };
            // whatever is left in the end
            let is_random = match self.share {
                Share { random: 0, .. } => false,
                Share { structured: 0, .. } => true,
                _ => is_random,
            };
            if is_random {
                self.share.random -= 1;
                // the first three times in four
                &random[self.cases.random.below(4).saturating_sub(4 - random.len())]
            } else {
                self.share.structured -= 1;
                let any = &structured[self.cases.random.below(structured.len())];
                if mixture == 3 { only } else { any }
            }
        };
        (0..length).map(choose).collect()
    }
}

fn show_ecdsa(check: &EcdsaCheck) -> String {
    let key = match &check.key {
        Key::Compressed(key) => hex::encode(key),
        Key::Uncompressed(key) => hex::encode(key),
    };
    let [digest, r, s] = [check.digest, check.r, check.s].map(hex::encode);
    format!("digest {digest}\nr {r}\ns {s}\nkey {key}")
}

fn show_schnorr(check: &SchnorrCheck) -> String {
    let [message, signature] = [hex::encode(check.message), hex::encode(check.signature)];
    format!("message {message}\nsignature {signature}\nkey {}", hex::encode(check.key))
}

fn show_recovery(of: &Recovery) -> String {
    let [digest, r, s] = [of.digest, of.r, of.s].map(hex::encode);
    format!("digest {digest}\nr {r}\ns {s}\nrecovery id {}", of.recovery_id)
}

fn show_tweak(check: &TweakCheck) -> String {
    let [key, tweak, sum] = [check.key, check.tweak, check.tweaked].map(hex::encode);
    format!("key {key}\ntweak {tweak}\ntweaked {sum}\nodd {}", check.odd)
}
