//! Large tables of a commit are written at the same time; they become true together or not at all.

use blockmill_store::{CommitPart, CrashPoint, Error, Result, Store, StoreOptions};
use blockmill_store::{Table, TableOptions};
use std::path::Path;

/// Tables, and how many keys the second commit puts into each.
const TABLES: [(&str, u32); 4] = [("one", 40_000), ("two", 20_000), ("few", 10), ("three", 17_000)];

struct Open {
    store: Store,
    state: Vec<u8>,
    tables: Vec<Table>,
}

impl Open {
    fn new(dir: &Path, options: &StoreOptions) -> Self {
        let mut opening = Store::open(dir, options).unwrap();
        let memory = TableOptions::new(8 << 20);
        let tables = TABLES.map(|(name, _)| opening.table(name, &memory).unwrap()).into();
        let (store, state) = opening.finish().unwrap();
        Self { store, state, tables }
    }

    fn commit(&mut self, state: &[u8]) -> Result<()> {
        let mut parts: Vec<CommitPart<'_>> = self.tables.iter_mut().map(CommitPart::from).collect();
        self.store.commit(&mut parts, state)
    }

    /// One key in each table.
    fn first_commit(&mut self) {
        self.tables.iter_mut().for_each(|table| table.put(b"first", b"1").unwrap());
        self.commit(b"first").unwrap();
    }

    fn second_commit(&mut self) -> Result<()> {
        for (table, (name, count)) in self.tables.iter_mut().zip(TABLES) {
            for number in 0..count {
                let key = number.wrapping_mul(0x9e37_79b1).to_be_bytes();
                table.put(&key, name.as_bytes()).unwrap();
            }
        }
        self.commit(b"second")
    }

    fn entries(&self) -> Vec<u32> {
        let count = |(table, (name, _)): (&Table, (&str, u32))| {
            let (mut scan, mut count) = (table.iter().unwrap(), 0);
            while let Some((key, value)) = scan.next().unwrap() {
                assert_eq!(value, if key == b"first" { b"1" } else { name.as_bytes() });
                count += 1;
            }
            count
        };
        self.tables.iter().zip(TABLES).map(count).collect()
    }
}

#[test]
fn large_tables_become_true_together() {
    let all: Vec<u32> = TABLES.iter().map(|(_, count)| count + 1).collect();
    // the first commit passes the point once for each table
    let deaths = (4..8).map(|nth| Some((CrashPoint::HalfRun, nth)));
    for crash_at in deaths.chain([Some((CrashPoint::AfterParts, 1)), None]) {
        let folder = tempfile::tempdir().unwrap();
        let planned = StoreOptions { crash_at, ..StoreOptions::default() };
        let mut open = Open::new(folder.path(), &planned);
        open.first_commit();
        let outcome = open.second_commit();
        drop(open);
        let mut open = Open::new(folder.path(), &StoreOptions::default());
        match crash_at {
            None => outcome.unwrap(),
            Some((point, _)) => {
                assert!(matches!(outcome, Err(Error::Crash(found)) if found == point));
                assert_eq!((&open.state[..], open.entries()), (&b"first"[..], vec![1; 4]));
                open.second_commit().unwrap();
                drop(open);
                open = Open::new(folder.path(), &StoreOptions::default());
            }
        }
        assert_eq!((&open.state[..], open.entries()), (&b"second"[..], all.clone()));
    }
}
