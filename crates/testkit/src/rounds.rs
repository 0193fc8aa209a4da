//! How often a test repeats itself.

/// The variable by which all numbers of rounds are divided.
const DIVISOR: &str = "BLOCKMILL_ROUNDS_DIVISOR";

/// The number of rounds to run: all of `full`, or one in `BLOCKMILL_ROUNDS_DIVISOR` of them, at
/// least one, for emulators that make every instruction slow. Prints a message if they are fewer.
#[must_use]
pub fn rounds(full: usize) -> usize {
    let given = std::env::var(DIVISOR).ok();
    let rounds = divided(full, given.as_deref());
    if rounds < full {
        println!("{rounds} of {full} rounds: {DIVISOR} is {}", given.unwrap_or_default());
    }
    rounds
}

/// The numbers below `full` to try: all of them, or the number that [`rounds`] returns, spread
/// evenly.
pub fn spread(full: usize) -> impl Iterator<Item = usize> {
    let step = full.div_ceil(rounds(full).max(1)).max(1);
    (0..full).step_by(step)
}

fn divided(full: usize, divisor: Option<&str>) -> usize {
    let Some(text) = divisor.filter(|text| !text.is_empty()) else { return full };
    let number = text.parse().ok().filter(|number| *number > 0);
    let number: usize = number.unwrap_or_else(|| panic!("{DIVISOR}={text} is no number above 0"));
    (full / number).max(1).min(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_leaves_at_least_one_round() {
        assert_eq!(divided(4_000, None), 4_000);
        assert_eq!(divided(4_000, Some("")), 4_000);
        assert_eq!(divided(4_000, Some("20")), 200);
        assert_eq!(divided(7, Some("20")), 1);
        assert_eq!(divided(0, Some("20")), 0);
    }

    #[test]
    #[should_panic(expected = "no number above 0")]
    fn a_wrong_divisor_is_not_taken_for_none() {
        divided(7, Some("0"));
    }
}
