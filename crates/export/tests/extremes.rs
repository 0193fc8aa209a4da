//! No value ends an export: what a column cannot hold is null, and the last column of the row has
//! it exactly. Rows of random extreme values, of every table.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use blockmill_export::schema::{Column, Form, Kind, LARGE, Names, Table};
use blockmill_export::{Rows, all_tables};
use blockmill_rlp::U256;
use blockmill_testkit::Random;

const ROWS: usize = 40;

fn below(random: &mut Random, limit: u64) -> u64 {
    random.next_u64() % limit
}

/// A number near a limit of a type, or any.
fn extreme(random: &mut Random) -> U256 {
    let limits = [
        U256::ZERO,
        U256::from(i64::MAX),
        U256::from(u64::MAX),
        U256::from(10).pow(U256::from(38)),
        U256::from(i128::MAX),
        U256::from(u128::MAX),
        U256::MAX,
    ];
    let limit = limits[below(random, limits.len() as u64) as usize];
    match below(random, 4) {
        0 => limit.saturating_sub(U256::ONE),
        1 => limit.saturating_add(U256::ONE),
        2 => limit >> below(random, 256) as usize,
        _ => limit,
    }
}

/// The largest number that a column holds.
fn largest(kind: Kind) -> U256 {
    match kind {
        Kind::Wei => U256::from(10).pow(U256::from(38)) - U256::ONE,
        _ => U256::from(i64::MAX),
    }
}

/// A number for a column: one that it may have no room for, if that can be null.
fn number(column: &Column, has_large: bool, random: &mut Random) -> U256 {
    let number = match column.kind {
        // no clock reaches more microseconds
        Kind::Time => extreme(random) & U256::from(u128::MAX),
        _ => extreme(random),
    };
    if column.nullable && has_large { number } else { number.min(largest(column.kind)) }
}

/// Adds a value, and returns it if it is a number.
fn add(rows: &mut Rows, column: &Column, has_large: bool, random: &mut Random) -> Option<U256> {
    let bytes = vec![0xa5; below(random, 100) as usize];
    match column.kind {
        Kind::Fixed(width) => rows.bytes(&vec![7; width.into()]),
        Kind::Bytes => rows.bytes(&bytes),
        Kind::Fixeds(width) => {
            let list = vec![vec![7; width.into()]; below(random, 3) as usize];
            rows.list(list.iter().map(|value| &value[..]));
        }
        Kind::Strings => rows.list([&bytes[..], &[]].into_iter()),
        Kind::Structs(of) => rows.structs(0..below(random, 3), |rows, _| {
            for column in of.columns {
                add(rows, column, false, random);
            }
        }),
        Kind::Text => rows.text("\u{10ffff} \0 \"'"),
        Kind::Bool => rows.bool(true),
        Kind::Int | Kind::Wei | Kind::Time => {
            let number = number(column, has_large, random);
            match column.kind {
                Kind::Int => rows.wide_int(number),
                Kind::Wei => rows.wei(number),
                _ => rows.micros(u128::try_from(number).unwrap()),
            }
            return Some(number);
        }
    }
    None
}

/// The number of a row in a column, or in its last column.
fn found(batch: &RecordBatch, at: usize, kind: Kind, row: usize) -> U256 {
    let column = batch.column(at);
    if !column.is_null(row) {
        return match kind {
            Kind::Int => U256::from(column.as_primitive::<Int64Type>().value(row)),
            Kind::Wei => U256::from(column.as_primitive::<Decimal128Type>().value(row)),
            _ => U256::from(column.as_primitive::<TimestampMicrosecondType>().value(row)),
        };
    }
    let name = batch.schema().field(at).name().clone();
    let large = batch.column_by_name(LARGE.name).unwrap().as_list::<i32>().value(row);
    let (names, numbers) = (large.as_struct().column(0), large.as_struct().column(1));
    let at = names.as_string::<i32>().iter().position(|found| found == Some(&name)).unwrap();
    if let Some(text) = numbers.as_string_opt::<i32>() {
        return U256::from_str_radix(&text.value(at)[2..], 16).unwrap();
    }
    U256::from_be_slice(numbers.as_binary::<i32>().value(at))
}

fn check(chain: &str, table: &'static Table, form: Form, random: &mut Random) -> usize {
    let has_large = table.columns.last().is_some_and(|column| column.name == LARGE.name);
    let columns = &table.columns[..table.columns.len() - usize::from(has_large)];
    let mut rows = Rows::new(table, form);
    let mut expected = vec![];
    for _ in 0..ROWS {
        let add = |column| add(&mut rows, column, has_large, random);
        expected.push(columns.iter().map(add).collect::<Vec<_>>());
        rows.end();
    }
    let batches = rows.finish().unwrap_or_else(|error| panic!("{chain} {}: {error}", table.name));
    let [batch] = &batches.batches[..] else { panic!("one batch") };
    let mut large = 0;
    for (row, numbers) in expected.iter().enumerate() {
        for (at, (column, number)) in columns.iter().zip(numbers).enumerate() {
            let Some(number) = number else { continue };
            let name = column.name;
            assert_eq!(
                found(batch, at, column.kind, row),
                *number,
                "{chain} {} {name}",
                table.name
            );
            large += usize::from(batch.column(at).is_null(row));
        }
    }
    large
}

#[test]
fn every_table_keeps_every_number() {
    let mut random = Random::new(42);
    for (chain, table) in all_tables() {
        for hex in [false, true] {
            for names in [Names::Etl, Names::Cryo] {
                let large = check(chain, table, Form { hex, names }, &mut random);
                let nullable = table.columns.iter().any(|column| {
                    column.nullable && matches!(column.kind, Kind::Int | Kind::Wei | Kind::Time)
                });
                let is_seen = large > 0;
                assert_eq!(is_seen, nullable && chain != "bitcoin", "{chain} {}", table.name);
            }
        }
    }
}
