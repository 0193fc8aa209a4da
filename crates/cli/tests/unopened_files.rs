//! A file of an archive that cannot be opened is trouble of this machine, by whatever command, and
//! its blocks are never passed over.

use crate::program::{Scratch, blockmill, run, succeed};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Exit code for trouble of this machine.
const ENVIRONMENT: i32 = 5;

/// An archive that is whole, the name of one more file of it, and flags for it.
struct Case {
    folder: PathBuf,
    more: &'static str,
    flags: &'static str,
    /// What it is converted to.
    to: &'static str,
}

fn cases(scratch: &Scratch) -> Vec<Case> {
    const BODIES: &str = "--seal off --level bodies";
    let folder = |name: &str| scratch.path(name);
    fs::create_dir(folder("rlp")).expect("a folder");
    let chain = folder("rlp/chain.rlp");
    succeed(blockmill("generate ethereum --headers 30 --format rlp --out").arg(chain));
    for (format, out) in [("era1", "era1"), ("freezer", "freezer")] {
        let words = format!("generate ethereum --headers 30 --format {format} --out");
        succeed(blockmill(&words).arg(folder(out)));
    }
    succeed(blockmill("generate bitcoin --inputs 4 --blocks 20 --out").arg(folder("blocks")));
    succeed(blockmill("generate neo --blocks 10 --txs 2 --out").arg(folder("neo")));
    let case = |name: &str, more, flags, to| Case { folder: folder(name), more, flags, to };
    vec![
        case("rlp", "more.rlp", BODIES, "headers"),
        // content decides what a file is, not its name
        case("rlp", "more", BODIES, "headers"),
        case("era1", "mainnet-00001-00000000.era1", BODIES, "rlp"),
        case("freezer/chain", "bodies.0000.cdat", BODIES, "rlp"),
        case("blocks", "blk00001.dat", "--level bodies", "blk"),
        case("blocks", "blk00001.dat", "--level bodies --chain regtest", "core"),
        case("neo", "chain.11.acc", "--level bodies", "acc"),
    ]
}

/// What is put in place of a file, and whether that must have the name of an archive to count.
type Bad = fn(&Path);
const BAD: [(&str, bool, Bad); 6] = [
    ("dangling link", false, |path| symlink("nowhere", path).expect("a link")),
    ("loop", false, |path| symlink(path, path).expect("a link")),
    // the system refuses it with an error of its own, as it does a folder that is forbidden
    ("link of too long a name", false, |path| symlink("x".repeat(300), path).expect("a link")),
    ("link into no folder", false, |path| symlink("nowhere/at/all", path).expect("a link")),
    ("device", true, |path| symlink("/dev/null", path).expect("a link")),
    ("folder", true, |path| fs::create_dir(path).expect("a folder")),
];

#[test]
fn a_file_that_cannot_be_opened_is_trouble_for_every_command() {
    let scratch = Scratch::new("unopened-files");
    let (data, out) = (scratch.path("data"), scratch.path("out"));
    let cases = cases(&scratch);
    for Case { folder, more, flags, to } in &cases {
        let path = folder.join(more);
        let kept = fs::read(&path).ok();
        succeed(blockmill(&format!("verify {flags}")).arg(folder));
        for (what, needs_name, put) in BAD {
            if needs_name && !more.contains('.') {
                continue;
            }
            if kept.is_some() {
                fs::remove_file(&path).expect("a file");
            }
            put(&path);
            let chain = if flags.contains("regtest") { "--chain regtest" } else { "" };
            let commands = [
                format!("verify {flags}"),
                "inspect".to_owned(),
                format!("import {flags} --data {}", data.display()),
                format!("export {flags} --tables blocks --to {}", out.display()),
                format!("convert --to {to} {chain} --out {}", out.display()),
            ];
            for command in &commands {
                let ended = run(blockmill(command).arg(folder));
                let text = format!("{command} {}: {what}: {ended:?}", path.display());
                assert_eq!(ended.code, Some(ENVIRONMENT), "{text}");
                assert!(ended.stderr.contains(more) || ended.stdout.contains(more), "{text}");
                let _ = (fs::remove_dir_all(&data), fs::remove_dir_all(&out));
            }
            if fs::symlink_metadata(&path).expect("what was put there").is_dir() {
                fs::remove_dir(&path).expect("a folder");
            } else {
                fs::remove_file(&path).expect("a link");
            }
            kept.iter().for_each(|kept| fs::write(&path, kept).expect("a file"));
        }
    }
}

/// A link without a target on the way to block files is not an archive without them.
#[test]
fn a_folder_that_cannot_be_reached_is_trouble() {
    let scratch = Scratch::new("unreached-folders");
    for (name, link) in [("bitcoin", "blocks"), ("chaindata", "ancient"), ("datadir", "geth")] {
        fs::create_dir(scratch.path(name)).expect("a folder");
        symlink("/nowhere/mounted", scratch.path(name).join(link)).expect("a link");
        for command in ["verify", "inspect"] {
            let ended = run(blockmill(command).arg(scratch.path(name)));
            assert_eq!(ended.code, Some(ENVIRONMENT), "{command} {name}: {ended:?}");
            assert!(ended.stderr.contains("/nowhere/mounted"), "{command} {name}: {ended:?}");
        }
    }
}

/// A user without rights, as whom the tests may not run: then as another one.
#[test]
fn a_link_into_a_forbidden_folder_is_trouble() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    // every user may enter it, which need not hold for the folder that TMPDIR names
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open).expect("permissions");
    succeed(blockmill("generate bitcoin --inputs 4 --blocks 20 --out").arg(path("blocks")));
    fs::create_dir(path("closed")).expect("a folder");
    fs::write(path("closed/blk00001.dat"), "").expect("a file");
    fs::set_permissions(path("closed"), fs::Permissions::from_mode(0o000)).expect("permissions");
    symlink(path("closed/blk00001.dat"), path("blocks/blk00001.dat")).expect("a link");
    let program = path("blockmill");
    fs::copy(env!("CARGO_BIN_EXE_blockmill"), &program).expect("the program");
    let is_root = fs::read_to_string("/proc/self/status").expect("a file of Linux");
    let is_root = is_root.lines().any(|line| line.starts_with("Uid:\t0\t"));
    for words in ["verify", "inspect"] {
        let mut command = std::process::Command::new(&program);
        command.arg(words).arg(path("blocks")).env("TMPDIR", folder.path());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let ended = run(&mut command);
        assert_eq!(ended.code, Some(ENVIRONMENT), "{words}: {ended:?}");
        assert!(ended.stderr.contains("blk00001.dat"), "{words}: {ended:?}");
    }
}
