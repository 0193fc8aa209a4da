//! Where a program was when it was asked, again and again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Most stacks that are kept, the heaviest first.
const MOST_STACKS: usize = 2000;

/// Samples of all threads, taken by CPU time: a thread that waits is not seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Samples in a second of CPU time that were asked for.
    pub hertz: u32,
    /// Samples that were taken.
    pub samples: u64,
    /// Names of functions, each once.
    pub functions: Vec<String>,
    /// The stacks, the heaviest first. Those that are too many or too light are left out.
    pub stacks: Vec<Stack>,
}

/// A stack, and how often it was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stack {
    /// Places in the list of functions, the outermost first.
    pub functions: Vec<u32>,
    /// How many samples had it.
    pub samples: u64,
}

impl Profile {
    /// A profile of stacks, each with the names of its functions, the outermost first.
    pub fn from_stacks(hertz: u32, stacks: impl IntoIterator<Item = (Vec<String>, u64)>) -> Self {
        let mut together: HashMap<Vec<String>, u64> = HashMap::new();
        for (names, samples) in stacks {
            *together.entry(names).or_default() += samples;
        }
        let mut all: Vec<_> = together.into_iter().collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let samples = all.iter().map(|stack| stack.1).sum();
        all.truncate(MOST_STACKS);
        let mut profile = Self { hertz, samples, ..Self::default() };
        let mut known: HashMap<String, u32> = HashMap::new();
        for (names, samples) in all {
            let mut place = |name: String| {
                *known.entry(name).or_insert_with_key(|name| {
                    profile.functions.push(name.clone());
                    profile.functions.len() as u32 - 1
                })
            };
            let functions = names.into_iter().map(&mut place).collect();
            profile.stacks.push(Stack { functions, samples });
        }
        profile
    }

    /// The name of a function of a stack; empty if the record names none.
    pub fn name(&self, function: u32) -> &str {
        self.functions.get(function as usize).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_that_are_alike_are_one_and_names_stand_once() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let profile =
            Profile::from_stacks(99, [(names("a b"), 2), (names("a c a"), 4), (names("a b"), 3)]);
        assert_eq!((profile.hertz, profile.samples), (99, 9));
        assert_eq!(profile.functions, ["a", "b", "c"]);
        let stack = |functions: &[u32], samples| Stack { functions: functions.into(), samples };
        assert_eq!(profile.stacks, [stack(&[0, 1], 5), stack(&[0, 2, 0], 4)]);
        assert_eq!((profile.name(2), profile.name(3)), ("c", ""));
    }

    #[test]
    fn the_lightest_of_too_many_stacks_are_left_out_and_counted() {
        let one = |at: usize| (vec![at.to_string()], 1 + u64::from(at == 2500));
        let profile = Profile::from_stacks(99, (0..3000).map(one));
        assert_eq!((profile.samples, profile.stacks.len()), (3001, MOST_STACKS));
        assert_eq!(profile.name(profile.stacks[0].functions[0]), "2500");
    }
}
