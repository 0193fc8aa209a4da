//! `export --dry-run`: says what an export would write. Nothing is verified or written.

use super::{Asked, Job, To};
use crate::answer::Answer;
use anyhow::Result;
use blockmill_export::schema::{Column, Form, Table};
use blockmill_export::{Place, place_of};
use blockmill_report::wrap;
use blockmill_verdict::{Level, grouped};
use serde_json::{Value, json};

/// Columns of a terminal that states none.
const WIDTH: usize = 80;

/// Blocks that a sample has, about.
pub const SAMPLE: u64 = 256;

/// What is known of an archive before it is verified.
pub struct Contents {
    /// Name of the chain.
    pub chain: String,
    /// How deep blocks would be verified.
    pub level: &'static str,
    /// Number of the first block.
    pub first: u64,
    /// Number of the last block.
    pub last: u64,
    /// Whether an index states the last block. Otherwise it is estimated.
    pub is_stated: bool,
    /// Where the number of blocks is from.
    pub counted: &'static str,
    /// Source files that are a partition each; none if partitions are ranges of numbers.
    pub files: Option<usize>,
    /// The rows of some blocks.
    pub sample: Sample,
}

/// The rows of some blocks of an archive.
#[derive(Default)]
pub struct Sample {
    /// How many blocks.
    pub blocks: u64,
    /// Tables with their rows. A table that is not here can be counted only by verifying.
    pub rows: Vec<(&'static str, u64)>,
}

impl Sample {
    /// Adds rows of a table.
    pub fn add(&mut self, table: &'static str, rows: usize) {
        let rows = rows as u64;
        match self.rows.iter_mut().find(|(name, _)| *name == table) {
            Some((_, sum)) => *sum += rows,
            None => self.rows.push((table, rows)),
        }
    }
}

/// What would be written of a table.
struct Plan {
    table: &'static Table,
    rows: Option<u64>,
    /// Is that the exact number?
    is_exact: bool,
    place: Place,
}

/// Describes what an export of these tables would write.
pub fn answer(asked: &Asked<'_>, contents: &Contents, job: &Job, json: bool) -> Result<Answer> {
    let form = job.export.facts().form;
    let (first, last) = range(asked, contents);
    let blocks = last.saturating_add(1).saturating_sub(first);
    let plan = |table: &'static Table| {
        let (rows, is_exact) = match table.name {
            "blocks" => (Some(blocks), contents.is_stated),
            name => (contents.sample.scaled(name, blocks), false),
        };
        let by = asked.partition;
        let known = contents.is_stated.then_some(last);
        let place = place_of(by, table, (first, known), &contents.chain, form, contents.files);
        Plan { table, rows, is_exact, place }
    };
    let level = Level::named(contents.level);
    let plans: Vec<_> = job.tables.iter().copied().map(plan).collect();
    if json {
        let tables: Vec<_> = plans.iter().map(|plan| plan.json(form, level)).collect();
        return Answer::ok().with(json!({
            "dry_run": true,
            "to": asked.to.folder().map(|to| to.display().to_string()),
            "chain": contents.chain,
            "level": contents.level,
            "first": first,
            "last": last,
            "blocks": blocks,
            "blocks_are_exact": contents.is_stated,
            "blocks_from": contents.counted,
            "sample_blocks": contents.sample.blocks,
            "tables": tables,
        }));
    }
    let width = blockmill_report::width().unwrap_or(WIDTH);
    let about = if contents.is_stated { "" } else { "about " };
    let folder = asked.to.folder().map(|to| to.display().to_string()).unwrap_or_default();
    let [count, from, to] = [blocks, first, last].map(grouped);
    print_folded("Dry run: nothing is verified, nothing is written.", 0, width);
    // nothing follows the path: it may be copied, and be longer than a line
    print_folded(&format!("Folder: {folder}"), 0, width);
    let range =
        if blocks == 0 { "no blocks".into() } else { format!("blocks {from} to {about}{to}") };
    let from = contents.counted;
    let Contents { chain, level: name, .. } = contents;
    let text = format!("{chain}, level {name}, {range} ({about}{count}, from {from}).");
    print_folded(&text, 0, width);
    let sampled = grouped(contents.sample.blocks);
    print_folded(&format!("Rows are estimated from a sample of {sampled} blocks."), 0, width);
    plans.iter().for_each(|plan| plan.print(form, level, width));
    if let Some(nulls) = job.nulls() {
        println!("");
        print_folded(&nulls, 0, width);
    }
    if !form.hex {
        println!("");
        print_folded("--hex writes binary columns as text, 0x and digits.", 0, width);
    }
    Ok(Answer::ok())
}

/// The first and the last block that would be written.
fn range(asked: &Asked<'_>, contents: &Contents) -> (u64, u64) {
    let verification = asked.verification;
    let after = match &asked.to {
        To::Append(append) => append.last_block().next(),
        _ => 0,
    };
    let first = contents.first.max(verification.from.unwrap_or(0)).max(after);
    (first, contents.last.min(verification.until.unwrap_or(u64::MAX)))
}

impl Sample {
    /// The rows of a table in so many blocks, if there are as many in each as in the sample.
    fn scaled(&self, table: &str, blocks: u64) -> Option<u64> {
        let (_, rows) = self.rows.iter().find(|(name, _)| *name == table)?;
        let rows = u128::from(*rows) * u128::from(blocks) / u128::from(self.blocks.max(1));
        u64::try_from(rows).ok()
    }
}

impl Plan {
    fn json(&self, form: Form, level: Option<Level>) -> Value {
        let Self { table, rows, is_exact, place } = self;
        let column = |column: &Column| {
            json!({
                "name": form.name_of(column),
                "type": column.type_name(form),
                "null_below_level": needed(column, level).map(Level::name),
                "about": column.about,
            })
        };
        json!({
            "table": table.name,
            "about": table.about,
            "rows": rows,
            "rows_are_exact": is_exact,
            "files": place.files,
            "path": place.path,
            "columns": table.columns.iter().map(column).collect::<Vec<_>>(),
        })
    }

    fn print(&self, form: Form, level: Option<Level>, width: usize) {
        let Self { table, rows, is_exact, place } = self;
        let rows = match (rows, is_exact) {
            (None, _) => "number of rows not known before".into(),
            (Some(rows), true) => format!("{} rows", grouped(*rows)),
            (Some(rows), false) => format!("about {} rows", grouped(*rows)),
        };
        println!("");
        print_folded(&format!("{}: {rows}", table.name), 0, width);
        let files = match place.files {
            Some(1) => String::new(),
            Some(files) => format!("{} files: ", grouped(files)),
            None => "files: ".into(),
        };
        print_folded(&format!("{files}{}", place.path), 2, width);
        let longest = table.columns.iter().map(|column| form.name_of(column).len()).max();
        let longest = longest.unwrap_or(0);
        for column in table.columns {
            let (name, mut of) = (form.name_of(column), column.type_name(form));
            if let Some(level) = needed(column, level) {
                of += &format!(": needs level {}", level.name());
            }
            if 4 + longest + of.len() <= width {
                println!("  {name:<longest$}  {of}");
            } else {
                println!("  {name}");
                print_folded(&of, 6, width);
            }
        }
    }
}

/// The level that a column needs, if it is null at that of the export.
fn needed(column: &Column, level: Option<Level>) -> Option<Level> {
    level.and_then(|level| column.null_at(level))
}

/// Prints text in lines of `width`, each indented. A path stays whole, so that it can be copied.
fn print_folded(text: &str, indent: usize, width: usize) {
    let indent = " ".repeat(indent);
    println!("{}", wrap(&format!("{indent}{text}"), Some(width), &indent));
}
