//! The schemas in the document are those of the code.

use blockmill_export::schema::{Column, Form, Table};
use blockmill_export::{bitcoin, ethereum, neo};
use std::fmt::Write;
use std::fs;

fn describe(chain: &str, tables: &[&Table]) -> String {
    let mut text = String::new();
    for table in tables {
        let sorted = table.sorted.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let _ = writeln!(text, "### {chain}: {}\n", table.name);
        let _ = writeln!(text, "{} Sorted by {}.\n", table.about, sorted.join(", "));
        text += "| column | cryo | type | filter | what it is |\n|---|---|---|---|---|\n";
        for column in table.columns {
            let Column { name, cryo, about, .. } = column;
            let cryo = if cryo == name { String::new() } else { format!("`{cryo}`") };
            let filter = if column.searched { "Bloom" } else { "" };
            let of = column.type_name(Form::default());
            let _ = writeln!(text, "| `{name}` | {cryo} | {of} | {filter} | {about} |");
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_document_has_every_table_as_it_is_written() {
    let chains: [(&str, &[&Table]); 3] = [
        ("Ethereum", &ethereum::tables::ALL),
        ("Bitcoin", &bitcoin::tables::ALL),
        ("Neo", &neo::tables::ALL),
    ];
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/columns.md");
    let document = fs::read_to_string(path).unwrap();
    for (chain, tables) in chains {
        for table in tables {
            let names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
            assert!(table.sorted.iter().all(|name| names.contains(name)), "{}", table.name);
        }
        let text = describe(chain, tables);
        assert!(document.contains(&text), "docs/formats/columns.md lacks:\n\n{text}");
    }
}
