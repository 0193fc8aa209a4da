//! Shares the time of a session among its comparisons.

use super::Plan;
use crate::definition::Definition;
use crate::experiment::Experiment;
use std::time::{Duration, Instant};

/// The time left for comparisons.
pub struct TimeBudget {
    start: Instant,
    all: Option<Duration>,
    in_turn: bool,
    /// Seconds that the definitions ask for, for all comparisons that remain.
    remaining_s: f64,
}

impl TimeBudget {
    pub fn of(plan: &Plan, start: Instant) -> Self {
        let own =
            |(definition, experiment): &(Definition, Experiment)| definition.seconds(experiment);
        let remaining_s = plan.comparisons.iter().map(own).sum();
        Self { start, all: plan.budget, in_turn: plan.in_turn, remaining_s }
    }

    /// The budget of the next comparison, whose definition asks for `own_s` seconds. `None` if no
    /// time is left or, with [`Plan::in_turn`], less than half of `own_s`.
    pub fn take(&mut self, own_s: f64) -> Option<Duration> {
        let share = (own_s / self.remaining_s.max(own_s)).min(1.0);
        self.remaining_s -= own_s;
        let Some(all) = self.all else { return Some(Duration::from_secs_f64(own_s)) };
        let left_s = all.checked_sub(self.start.elapsed())?.as_secs_f64();
        let seconds = match self.in_turn {
            true if left_s < own_s / 2.0 => return None,
            true => (left_s * share).max(own_s.min(left_s)),
            false => left_s * share,
        };
        Some(Duration::from_secs_f64(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_shared_or_given_in_turn() {
        // of comparisons that would take 100 and 300 s; `passed` have passed already
        let budgets = |all: Option<u64>, in_turn, passed| {
            let start = Instant::now().checked_sub(Duration::from_secs(passed)).unwrap();
            let all = all.map(Duration::from_secs);
            let mut time = TimeBudget { start, all, in_turn, remaining_s: 400.0 };
            [100.0, 300.0].map(|own_s| time.take(own_s).map(|budget| budget.as_secs_f64().ceil()))
        };
        assert_eq!(budgets(None, false, 0), [Some(100.0), Some(300.0)]);
        assert_eq!(budgets(Some(80), false, 0), [Some(20.0), Some(80.0)]);
        assert_eq!(budgets(Some(800), false, 0), [Some(200.0), Some(800.0)]);
        assert_eq!(budgets(Some(80), false, 100), [None, None]);
        assert_eq!(budgets(Some(140), true, 0), [Some(100.0), None], "less than half of its own");
        assert_eq!(budgets(Some(200), true, 10), [Some(100.0), Some(190.0)]);
        assert_eq!(budgets(Some(800), true, 0), [Some(200.0), Some(800.0)], "more than all need");
    }
}
