//! Reads the public test vectors out of their archive.

/// Calls `each` with the name and the text of every JSON file below one of `folders`; there is one
/// at least.
pub fn for_each_file(folders: &[&str], mut each: impl FnMut(&str, &str)) {
    let wanted = |name: &str| {
        name.ends_with(".json") && folders.iter().any(|folder| name.starts_with(folder))
    };
    for (name, text) in blockmill_testkit::tar_files("ethereum/eth-tests.tar.zst", wanted) {
        each(&name, str::from_utf8(&text).unwrap());
    }
}
