//! The files of the repository, and Rust code without its comments and texts.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A Rust file.
pub struct Source {
    /// Path from the root of the repository.
    pub path: String,
    pub lines: Vec<String>,
    /// The same lines with comments and the content of literals as blanks.
    pub code: Vec<String>,
    /// For each line: is it compiled for tests, benchmarks or examples only?
    pub for_tests: Vec<bool>,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Paths from the root of all files with one of these endings. What begins with a dot and what is
/// built or downloaded is left out.
pub fn files(endings: &[&str]) -> Vec<String> {
    let root = root();
    let mut folders = vec![root.clone()];
    let mut found = vec![];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let built = ["target", "corpus", "artifacts", "blockmill-data", "blockmill-report"];
            if name.starts_with('.') || built.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Every Rust file.
pub fn sources() -> Vec<Source> {
    let mut sources: Vec<_> = files(&[".rs"]).into_iter().map(Source::read).collect();
    assert!(sources.len() > 100, "the root of the repository is {}", root().display());
    let test_files: HashSet<String> = sources.iter().flat_map(Source::test_modules).collect();
    for source in &mut sources {
        let for_tests = ["tests", "benches", "examples"];
        let sibling =
            Path::new(&source.path).iter().any(|part| for_tests.iter().any(|t| part == *t));
        let kit = ["fuzz/", "crates/testkit/"].iter().any(|kit| source.path.starts_with(kit));
        if sibling || kit || test_files.contains(&source.path) {
            source.for_tests.fill(true);
        }
    }
    sources
}

impl Source {
    fn read(path: String) -> Self {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let lines: Vec<_> = text.lines().map(str::to_string).collect();
        let code: Vec<_> = blank(&text).lines().map(str::to_string).collect();
        let mut source = Self { path, for_tests: vec![false; lines.len()], lines, code };
        for at in 0..source.code.len() {
            if source.is_test_cfg(at) {
                let end = source.end_of_item(at);
                source.for_tests[at..=end].fill(true);
            }
        }
        source
    }

    fn is_test_cfg(&self, at: usize) -> bool {
        let line = self.code[at].trim();
        line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,")
    }

    /// The last line of the item that begins at line `at`: of its braces, or its semicolon.
    pub fn end_of_item(&self, at: usize) -> usize {
        let (mut depth, mut brackets) = (0, 0);
        for (i, line) in self.code.iter().enumerate().skip(at) {
            for c in line.chars() {
                match c {
                    '(' | '[' => brackets += 1,
                    ')' | ']' => brackets -= 1,
                    '{' => depth += 1,
                    '}' if depth == 1 => return i,
                    '}' => depth -= 1,
                    ';' if depth == 0 && brackets == 0 => return i,
                    _ => {}
                }
            }
        }
        self.code.len() - 1
    }

    /// Paths of the modules in files of their own that are for tests only.
    fn test_modules(&self) -> Vec<String> {
        let path = Path::new(&self.path);
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let folder = match stem {
            "lib" | "main" | "mod" => path.parent().unwrap().to_path_buf(),
            _ => path.with_extension(""),
        };
        let declared = (1..self.code.len()).filter(|at| self.is_test_cfg(at - 1));
        declared
            .filter_map(|at| {
                let (_, name) = self.code[at].split_once("mod ")?;
                Some(format!("{}/{}.rs", folder.display(), name.strip_suffix(';')?))
            })
            .collect()
    }
}

/// `text` with blanks for comments and for what is in literals; lines and quotes stay.
pub fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = literal_or_comment(rest, out.chars().last());
        let (now, later) = rest.split_at(len.unwrap_or(c.len_utf8()));
        match len {
            None => out.push(c),
            Some(_) => {
                let quote = if c == '/' { ' ' } else { '"' };
                let inner = now.chars().map(|c| if c == '\n' { c } else { ' ' });
                let mut blanked: Vec<char> = inner.collect();
                if let [first, .., last] = &mut blanked[..] {
                    (*first, *last) = (quote, quote);
                }
                if now.ends_with('\n') {
                    blanked.pop();
                    blanked.push('\n');
                }
                out.extend(blanked);
            }
        }
        rest = later;
    }
    out
}

/// Bytes of the comment or literal that `rest` begins with.
fn literal_or_comment(rest: &str, before: Option<char>) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let prefix = if in_word { 0 } else { rest.len() - rest.trim_start_matches(['b', 'r']).len() };
    let (kind, quoted) = rest.split_at(prefix);
    let hashes = quoted.len() - quoted.trim_start_matches('#').len();
    if kind.contains('r') && quoted[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let from = prefix + hashes + 1;
        return Some(from + rest[from..].find(&end)? + end.len());
    }
    let quote = quoted.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    if prefix > 1 {
        return None;
    }
    let mut escaped = false;
    for (at, c) in quoted.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // a lifetime or a label is no literal
            _ if quote == '\'' && c != '\'' && at > 1 && !quoted[1..].starts_with('\\') => {
                return None;
            }
            _ if c == quote => return Some(prefix + at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

#[test]
fn comments_and_literals_are_blanked_and_lifetimes_are_not() {
    let text = "a(\"{\", '{', '\\'', b\"}\", r#\"\"{\"#); // {\nfn f<'a>(x: &'a str) {}\n";
    let code = blank(text);
    assert_eq!(code.matches(['{', '}']).count(), 2, "{code}");
    assert!(code.contains("fn f<'a>(x: &'a str) {}"), "{code}");
    assert_eq!(code.lines().count(), text.lines().count());
}
