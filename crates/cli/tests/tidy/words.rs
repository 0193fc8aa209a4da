//! Words that only the authors would know do not come back: comments, messages, names of tests and
//! documents use the field's words (CONTRIBUTING.md). One is in the text if it is there as a whole
//! word, whatever case its letters have.

use crate::source::{files, root};
use std::fs;

/// A private phrase, and what to write instead.
const PRIVATE: [(&str, &str); 20] = [
    ("told", "reported; passed"),
    ("beside", "next to; compared with; in addition to"),
    ("none where", "`None` if"),
    ("those of [`", "name the errors"),
    ("goes on from", "resumes from; continues from"),
    ("goes on after", "resumes after"),
    ("as often as", "may be repeated"),
    ("taken over", "committed; reused"),
    ("what it comes to", "the result"),
    ("in vain", "aborted"),
    ("of those of", "name the noun"),
    ("foresight", "prefetch statistics"),
    ("handover", "export"),
    ("hand-over", "export"),
    ("sitting", "session"),
    ("rung", "step"),
    ("rungs", "steps"),
    ("summed file", "checksummed file"),
    ("sum of coins", "coin multiset hash"),
    ("stands in for", "replaces"),
];

/// Files that may have one: the list itself, and pages that quote records.
const EXCEPTIONS: [&str; 2] = ["crates/cli/tests/tidy/words.rs", "docs/results/"];

/// Is `phrase` in `line`, between characters that belong to no word?
fn contains(line: &str, phrase: &str) -> bool {
    let part_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let is_word = phrase.ends_with(char::is_alphanumeric);
    line.match_indices(phrase).any(|(at, _)| {
        let after = line[at + phrase.len()..].chars().next();
        let before = line[..at].chars().next_back();
        let in_word = part_of_word(before) || is_word && part_of_word(after);
        !in_word
    })
}

#[test]
fn private_words_do_not_come_back() {
    let mut found = vec![];
    for path in files(&[".rs", ".md", ".py", ".toml", ".go"]) {
        if EXCEPTIONS.iter().any(|exception| path.starts_with(exception)) {
            continue;
        }
        let text = fs::read_to_string(root().join(&path)).unwrap_or_default().to_lowercase();
        for (at, line) in text.lines().enumerate() {
            for (phrase, instead) in PRIVATE {
                if contains(line, phrase) {
                    found.push(format!("{path}:{}: \"{phrase}\": write {instead}", at + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{} private words:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_phrase_is_found_as_whole_words_only() {
    for line in ["he was told", "told", "as_told", "(told)"] {
        assert!(contains(line, "told"), "{line}");
    }
    for line in ["untold", "toldi"] {
        assert!(!contains(line, "told"), "{line}");
    }
}
