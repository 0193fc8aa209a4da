//! Lists of checksums: every command compares the files with them before it does anything else.

use crate::program::{Scratch, blockmill, run, succeed};
use std::fs;
use std::path::Path;

const CORRUPT: i32 = 4;
const INCOMPLETE: i32 = 3;

/// Two era1 files of a chain of headers, in a folder.
fn archive(scratch: &Scratch) -> std::path::PathBuf {
    let folder = scratch.path("eras");
    let words = "generate ethereum --headers 16383 --format era1 --out";
    succeed(blockmill(words).arg(&folder));
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2);
    folder
}

fn list(folder: &Path, out: &Path) -> String {
    succeed(blockmill("inspect --force --checksums-out").arg(out).arg(folder));
    fs::read_to_string(out).expect("a list")
}

/// Runs every command that reads the folder; each ends with `code`, and says `words`.
fn expect(scratch: &Scratch, folder: &Path, flags: &str, code: i32, words: &[&str]) {
    let (data, out) = (scratch.path("data"), scratch.path("out"));
    for command in [
        format!("verify --level bodies --seal off {flags}"),
        format!("inspect {flags}"),
        format!("import --level bodies --seal off --data {} {flags}", data.display()),
        format!("export --level bodies --seal off --tables blocks --to {} {flags}", out.display()),
    ] {
        let ended = run(blockmill(&command).arg(folder));
        assert_eq!(ended.code, Some(code), "{command}: {ended:?}");
        for word in words {
            let said = ended.stdout.contains(word) || ended.stderr.contains(word);
            assert!(said, "{command}: {word}: {ended:?}");
        }
        let is_made = data.exists() || out.exists();
        assert!(code != CORRUPT || !is_made, "{command} made a store or tables");
        let _ = (fs::remove_dir_all(&data), fs::remove_dir_all(&out));
    }
}

#[test]
fn files_agree_with_a_list_in_both_styles_or_are_corrupt() {
    let scratch = Scratch::new("checksums");
    let folder = archive(&scratch);
    let (next_to, elsewhere) = (folder.join("checksums.txt"), scratch.path("list"));
    let named = list(&folder, &next_to);
    let bare: String = named.lines().map(|line| format!("{}\n", &line[..64])).collect();
    let flags = format!("--checksums {}", elsewhere.display());
    for style in [&named, &bare] {
        fs::write(&next_to, style).expect("a list");
        expect(&scratch, &folder, "", 0, &["compared 2 checksums of"]);
        fs::remove_file(&next_to).expect("a list");
        fs::write(&elsewhere, style).expect("a list");
        expect(&scratch, &folder, &flags, 0, &["compared 2 checksums of"]);
        let other = style.replacen(&style[..64], &"0".repeat(64), 1);
        fs::write(&elsewhere, &other).expect("a list");
        let words = ["-00000-", "SHA-256", &other[..64], &style[..64]];
        expect(&scratch, &folder, &flags, CORRUPT, &words);
        fs::write(&next_to, &other).expect("a list");
        expect(&scratch, &folder, "", CORRUPT, &words);
    }
}

#[test]
fn files_without_checksum_and_checksums_without_file_are_named() {
    let scratch = Scratch::new("checksums-missing");
    let folder = archive(&scratch);
    let out = scratch.path("list");
    let named = list(&folder, &out);
    let (first, second) = named.split_at(named.find('\n').expect("a line") + 1);
    let flags = format!("--checksums {}", out.display());
    fs::write(&out, first).expect("a list");
    expect(&scratch, &folder, &flags, INCOMPLETE, &["has no checksum of", "-00001-"]);
    let ended = run(blockmill(&format!("verify --level headers --seal off {flags}")).arg(&folder));
    assert!(!ended.stdout.contains("complete and valid"), "{}", ended.stdout);
    fs::write(&out, format!("{named}{}  gone.era1\n", &second[..64])).expect("a list");
    expect(&scratch, &folder, &flags, INCOMPLETE, &["that are not here: gone.era1"]);
    // a list that nobody named may be of more files, or no list at all
    fs::rename(&out, folder.join("checksums.txt")).expect("a list");
    expect(&scratch, &folder, "", 0, &["compared 2 checksums of", "gone.era1"]);
    fs::write(folder.join("checksums.txt"), "see the site\n").expect("a list");
    expect(&scratch, &folder, "", 0, &["checksums were not compared"]);
}

#[test]
fn a_list_replaces_no_archive() {
    let scratch = Scratch::new("checksums-out");
    let folder = archive(&scratch);
    let first = fs::read_dir(&folder).expect("a folder").next().expect("a file").expect("a file");
    let before = fs::read(first.path()).expect("a file");
    let mut inspect = blockmill("inspect --force --checksums-out");
    let ended = run(inspect.arg(first.path()).arg(&folder));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(fs::read(first.path()).expect("a file"), before);
}
