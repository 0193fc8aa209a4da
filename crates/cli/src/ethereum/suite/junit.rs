//! Results as JUnit's XML: a suite for each file, a test case for each case, whose class is the
//! network.

use blockmill_ethereum::suite::{Case, Verdict};
use std::fmt::Write;
use std::path::Path;

/// Suites as text, and their totals.
#[derive(Default)]
pub struct Junit {
    suites: String,
    /// Cases in all, failed, not run.
    totals: [usize; 3],
}

impl Junit {
    /// Adds the cases of a file.
    pub fn add_file(&mut self, file: &Path, cases: &[Case]) {
        let count = |wanted: fn(&Verdict) -> bool| {
            cases.iter().filter(|case| wanted(&case.verdict)).count()
        };
        let counts = [
            cases.len(),
            count(|verdict| matches!(verdict, Verdict::Failed { .. })),
            count(|verdict| matches!(verdict, Verdict::Skipped { .. })),
        ];
        let mut text = String::new();
        for case in cases {
            let name = format!("name=\"{}\" ", escaped(&case.name));
            let class = format!("classname=\"{}\"", escaped(&case.network));
            let inner = match &case.verdict {
                Verdict::Passed => String::new(),
                Verdict::Failed { expected, found } => {
                    let message = format!("expected {expected}, found {found}");
                    format!("<failure message=\"{}\"/>", escaped(&message))
                }
                Verdict::Skipped { reason } => {
                    format!("<skipped message=\"{}\"/>", escaped(reason))
                }
            };
            text += &format!("    <testcase {name}{class}>{inner}</testcase>\n");
        }
        self.add(file, counts, &text);
    }

    /// Adds a file of which nothing was run.
    pub fn add_unread(&mut self, file: &Path, reason: &str) {
        let inner = format!("<skipped message=\"{}\"/>", escaped(reason));
        let text = format!("    <testcase name=\"file\" classname=\"\">{inner}</testcase>\n");
        self.add(file, [1, 0, 1], &text);
    }

    fn add(&mut self, file: &Path, counts: [usize; 3], cases: &str) {
        let file = escaped(&file.display().to_string());
        // a text takes what is written
        let _ = write!(
            self.suites,
            "  <testsuite name=\"{file}\" {}>\n{cases}  </testsuite>\n",
            attributes(counts)
        );
        self.totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }

    /// The document.
    pub fn document(&self) -> String {
        let (totals, suites) = (attributes(self.totals), &self.suites);
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"blockmill\" \
             {totals}>\n{suites}</testsuites>\n"
        )
    }
}

fn attributes([all, failed, skipped]: [usize; 3]) -> String {
    format!("tests=\"{all}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"")
}

/// A text as the value of an attribute. Characters that XML 1.0 cannot have become `?`.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        match char {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' => escaped += "&#10;",
            '\t' => escaped += "&#9;",
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockmill_ethereum::suite::End;

    #[test]
    fn names_and_reasons_are_escaped_and_totals_are_sums() {
        let case = |name: &str, verdict| Case {
            name: name.into(),
            network: "Osaka".into(),
            verdict,
            end: End::default(),
        };
        let (expected, found) = ("1 < 2".into(), "\"3\"\u{1}\n".into());
        let mut junit = Junit::default();
        junit.add_file(
            Path::new("a&b.json"),
            &[case("one", Verdict::Passed), case("two", Verdict::Failed { expected, found })],
        );
        junit.add_unread(Path::new("c.json"), "not JSON");
        let text = junit.document();
        let totals = "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"";
        assert!(text.contains(&format!("<testsuites name=\"blockmill\" {totals}>")), "{text}");
        assert!(text.contains("<testsuite name=\"a&amp;b.json\" tests=\"2\""), "{text}");
        let failure = "message=\"expected 1 &lt; 2, found &quot;3&quot;?&#10;\"";
        assert!(text.contains(failure), "{text}");
        assert_eq!(text.matches("<testcase ").count(), 3);
    }
}
