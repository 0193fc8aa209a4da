//! All contestants must find the same.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use pipeline::writer_record::WriterLine;

/// The first answer to each question about a case.
#[derive(Debug, Default)]
pub struct Answers(HashMap<(String, String), Answer>);

#[derive(Debug)]
struct Answer {
    engine: String,
    op: String,
    bytes: u64,
    digest: String,
}

impl Answers {
    /// Compares the answer of `line` with those that came before it to the same question.
    ///
    /// # Errors
    /// When they differ: the case, both contestants, and what each of them gives.
    pub fn agree(&mut self, question: &str, line: &WriterLine) -> Result<()> {
        let digits = line.digest.strip_prefix("0x").unwrap_or_default();
        ensure!(
            digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "{} {} of {}: expected a digest, found {:?}",
            line.engine,
            line.op,
            line.case,
            line.digest
        );
        let found = Answer {
            engine: line.engine.clone(),
            op: line.op.clone(),
            bytes: line.bytes,
            digest: line.digest.to_ascii_lowercase(),
        };
        let key = (line.case.clone(), question.to_owned());
        let first = self.0.entry(key).or_insert(found);
        ensure!(
            first.bytes == line.bytes && first.digest.eq_ignore_ascii_case(&line.digest),
            "{}: {} {} gives {} bytes with digest {}, {} {} gives {} with {}",
            line.case,
            first.engine,
            first.op,
            first.bytes,
            first.digest,
            line.engine,
            line.op,
            line.bytes,
            line.digest
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(engine: &str, op: &str, bytes: u64, digit: &str) -> WriterLine {
        WriterLine {
            engine: engine.into(),
            case: "transactions-8".into(),
            op: op.into(),
            bytes,
            digest: format!("0x{}", digit.repeat(64)),
            ..WriterLine::default()
        }
    }

    #[test]
    fn each_question_has_one_answer() {
        let mut answers = Answers::default();
        answers.agree("whole", &line("a", "encode", 10, "a")).unwrap();
        answers.agree("whole", &line("b", "hash-reused", 10, "A")).unwrap();
        answers.agree("parts", &line("a", "hash-each", 9, "b")).unwrap();
        answers.agree("parts", &line("b", "hash-each", 9, "b")).unwrap();
    }

    #[test]
    fn a_difference_names_object_engines_and_digests() {
        let mut answers = Answers::default();
        answers.agree("whole", &line("a", "encode", 10, "a")).unwrap();
        for other in [line("b", "hash", 10, "c"), line("b", "hash", 11, "a")] {
            let error = answers.agree("whole", &other).unwrap_err().to_string();
            let words = ["transactions-8: a encode gives 10 bytes", "b hash gives", &other.digest];
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let other = WriterLine { digest: "0x12".into(), ..line("a", "hash", 1, "a") };
        let error = Answers::default().agree("whole", &other).unwrap_err().to_string();
        assert!(error.contains("expected a digest, found \"0x12\""), "{error}");
    }
}
