//! Real Neo chains into tables and back to the same bytes.

use blockmill_archive::ChunkLimit;
use blockmill_archive::acc::{self, Dumps};
use blockmill_export::neo::read::blocks;
use blockmill_export::neo::{consumer, tables};
use blockmill_export::schema::{Form, Names};
use blockmill_export::{Export, Facts, FileEntry, TableReader};
use blockmill_neo::Level;
use blockmill_neo::import::Sink;
use blockmill_neo::import::{Options, import};
use blockmill_neo::ledger::Ledger;
use blockmill_neo::params::Protocol;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const DUMP: &str = "neo/chain50x2.acc";

fn export(dumps: &Dumps, form: Form) -> (TempDir, HashMap<String, (PathBuf, FileEntry)>) {
    let text = fs::read_to_string(blockmill_testkit::fixture("neo/chain50x2.yml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let facts = Facts { folder: folder.path().into(), form, level: "execution", ..<_>::default() };
    let facts = Facts { chain: "private".into(), ..facts };
    let export = Export::with_row_groups(&tables::ALL, facts, 2, 20_000).unwrap();
    let options = Options {
        level: Level::Execution,
        threads: 2,
        batch: ChunkLimit { blocks: 7, bytes: 1 << 20 },
        consumer: Some(consumer(export.clone(), &tables::ALL)),
        ..Options::new(Protocol::from_yaml(&text).unwrap())
    };
    let data = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(data.path(), &blockmill_store::Options::default()).unwrap();
    let mut sink = Sink::Ledger(Box::new(ledger));
    let (_, outcome) = import(dumps, &options, &mut sink, |_| {});
    outcome.unwrap();
    let files = export.finish().unwrap().into_iter();
    let path = |file: &FileEntry| folder.path().join(&file.file);
    let files = files.map(|file| (file.table.clone(), (path(&file), file))).collect();
    (folder, files)
}

#[blockmill_testkit::needs(fixtures)]
#[test]
fn blocks_come_back_and_transfers_are_among_the_notifications() {
    let dumps = acc::open(&[blockmill_testkit::fixture(DUMP)]).unwrap();
    let (mut reader, mut batch) =
        (acc::Reader::new(&dumps, 0, ChunkLimit::default()), acc::Batch::default());
    let mut expected = HashMap::new();
    while reader.read(&mut batch).unwrap() {
        for at in 0..batch.len() {
            expected.insert(u64::from(batch.first()) + at as u64, batch.block(at).to_vec());
        }
    }
    for names in [Names::Etl, Names::Cryo] {
        let form = Form { hex: names == Names::Cryo, names };
        let (_folder, files) = export(&dumps, form);
        let file = |table: &str| &files[table].0;
        let mut seen = 0;
        blocks(file("blocks"), file("transactions"), |height, _, bytes| {
            assert_eq!(height, seen);
            assert!(expected.get(&height).is_none_or(|raw| *raw == bytes), "block {height}");
            seen += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!((seen, files["transactions"].1.rows), (51, 99));

        // every transfer is a notification of the same place and contract
        let mut reported = HashMap::new();
        for cells in TableReader::open(file("notifications"), &tables::NOTIFICATIONS).unwrap() {
            let cells = cells.unwrap();
            for row in 0..cells.rows() {
                let int = |name| cells.int(name, row).unwrap();
                let contract: [u8; 20] = cells.fixed("contract", row).unwrap();
                reported.insert((int("block_number"), int("notification_index")), contract);
            }
        }
        let mut transfers = 0;
        for cells in TableReader::open(file("transfers"), &tables::TRANSFERS).unwrap() {
            let cells = cells.unwrap();
            for row in 0..cells.rows() {
                let int = |name| cells.int(name, row).unwrap();
                let contract: [u8; 20] = cells.fixed("contract", row).unwrap();
                assert_eq!(reported[&(int("block_number"), int("notification_index"))], contract);
                assert!([11, 17].contains(&int("standard")));
                transfers += 1;
            }
        }
        assert!(transfers > 50 && transfers < reported.len(), "{transfers} of {}", reported.len());
    }
}
