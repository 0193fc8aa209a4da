//! Files of `export`: the same bytes from the same blocks, folders of partitions, columns of bytes.

use crate::exported::{files, manifest, rows};
use crate::program::{Scratch, blockmill, misunderstand, succeed_json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An archive of each chain, and the flags that it needs.
fn chains() -> [(&'static str, PathBuf, String); 3] {
    let fixture = |name: &str| blockmill_testkit::fixture(name);
    let protocol = fixture("neo/chain50x2.yml");
    [
        ("ethereum", fixture("ethereum/chains/hive-sync/chain.rlp"), "--seal off".into()),
        ("bitcoin", fixture("bitcoin/testnet3-0-400.dat"), "--partial".into()),
        ("neo", fixture("neo/chain50x2.acc"), format!("--chain {}", protocol.display())),
    ]
}

fn export(archive: &Path, to: &Path, words: &str) -> Command {
    let mut command = blockmill(&format!("export --tables all {words}"));
    command.arg(archive).arg("--to").arg(to);
    command
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn the_same_blocks_give_the_same_bytes_however_they_are_read() {
    let scratch = Scratch::new("exports_again");
    let readings = ["--threads 1 --chunk 7", "--threads 4"];
    for (chain, archive, words) in chains() {
        for form in ["", "--hex --names cryo", "--partition date", "--partition blocks=64"] {
            let parts =
                if form.ends_with("64") { ["--until 20", "--append"].as_slice() } else { &[""] };
            let all = readings.map(|reading| {
                let to =
                    scratch.path(&format!("{chain} {form} {reading}").replace([' ', '='], "_"));
                for part in parts {
                    let words = format!("{words} {form} {reading} {part}");
                    succeed_json(&mut export(&archive, &to, &words));
                }
                files(&to)
            });
            assert!(all[0] == all[1], "{chain} {form}");
        }
    }
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn partitions_are_folders_of_their_tables_as_hive_names_them() {
    let scratch = Scratch::new("exports_partitions");
    for (chain, archive, words) in chains() {
        let to = scratch.path(chain);
        succeed_json(&mut export(&archive, &to, &format!("{words} --partition blocks=1000")));
        let all = manifest(&to);
        assert_eq!(all["partition"], "blocks=1000");
        for file in all["files"].as_array().unwrap() {
            let [first, last] = ["first", "last"].map(|of| file[of].as_u64().unwrap());
            let start = first / 1000 * 1000;
            let folder = format!("block_range={start:09}-{:09}/", start + 999);
            let expected = format!("{}/{folder}", file["table"].as_str().unwrap());
            assert!(file["file"].as_str().unwrap().starts_with(&expected), "{file}");
            assert!(last < start + 1000, "{file}");
        }

        let to = scratch.path(&format!("{chain}-date"));
        succeed_json(&mut export(&archive, &to, &format!("{words} --partition date")));
        let mut seen = 0;
        for (name, blocks) in rows_of_files(&to, "blocks") {
            let date = name.split(['=', '/']).nth(2).unwrap();
            for block in blocks {
                assert_eq!(day_of(&block), date, "{name}");
                seen += 1;
            }
        }
        assert_eq!(seen, rows(&to)["blocks"].len(), "{chain}");
        assert!(!to.join("blocks").join("date=").exists());
        let words = format!("{words} --partition day");
        let other = scratch.path(&format!("{chain}-refused"));
        misunderstand(&mut export(&archive, &other, &words), &["expected blocks=N or date"]);
        assert!(!other.exists());
    }
}

/// The days in the column `timestamp` of each file of a table.
fn rows_of_files(folder: &Path, table: &str) -> Vec<(String, Vec<arrow_array::RecordBatch>)> {
    let all = manifest(folder);
    let files = all["files"].as_array().unwrap().iter().filter(|file| file["table"] == table);
    let mut rows = rows(folder)[table].clone().into_iter();
    let of_file = |file: &serde_json::Value| {
        let count = file["rows"].as_u64().unwrap() as usize;
        (file["file"].as_str().unwrap().to_owned(), rows.by_ref().take(count).collect())
    };
    files.map(of_file).collect()
}

/// The day of a block in UTC, from its timestamp.
fn day_of(block: &arrow_array::RecordBatch) -> String {
    use arrow_array::cast::AsArray;
    use arrow_array::types::TimestampMicrosecondType;
    let times = block.column_by_name("timestamp").unwrap();
    let micros = times.as_primitive::<TimestampMicrosecondType>().value(0);
    let moment = blockmill_report::date((micros / 1_000_000) as f64).unwrap();
    moment[.."2024-02-29".len()].to_owned()
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn with_hex_no_column_has_bytes() {
    let scratch = Scratch::new("exports_hex");
    for (chain, archive, words) in chains() {
        for (hex, expected) in [("", true), ("--hex", false)] {
            let to = scratch.path(&format!("{chain}{hex}"));
            succeed_json(&mut export(&archive, &to, &format!("{words} {hex}")));
            for (table, rows) in rows(&to) {
                let Some(row) = rows.first() else { continue };
                let types = format!("{:?}", row.schema().fields());
                assert_eq!(types.contains("Binary"), expected, "{chain} {table}: {types}");
            }
        }
    }
}
