//! Rows whose values do not fit, and rows in every form.

use super::*;
use crate::schema::{Column, Kind, Names};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

static PARTS: Table = Table {
    name: "parts",
    about: "",
    sorted: &[],
    columns: &[
        Column::new("short", Kind::Int, ""),
        Column::new("hash", Kind::Fixed(2), "").random(),
        Column::new("list", Kind::Fixeds(2), ""),
    ],
};

static TABLE: Table = Table {
    name: "table",
    about: "",
    sorted: &["number"],
    columns: &[
        Column::new("number", Kind::Int, ""),
        Column::new("value", Kind::Wei, "").or_none(),
        Column::new("time", Kind::Time, ""),
        Column::new("hash", Kind::Fixed(2), "").searched().random(),
        Column::new("list", Kind::Strings, ""),
        Column::new("parts", Kind::Structs(&PARTS), "").or_none(),
    ],
};

static NUMBERS: Table = Table {
    name: "numbers",
    about: "",
    sorted: &["number"],
    columns: &[
        Column::new("number", Kind::Int, "").or_none(),
        Column::new("value", Kind::Wei, "").cryo("wei").or_none(),
        Column::new("time", Kind::Time, "").or_none(),
        LARGE,
    ],
};

fn rows(hex: bool) -> Rows {
    Rows::new(&TABLE, Form { hex, names: Names::Etl })
}

#[test]
fn a_number_that_does_not_fit_is_null_and_stands_in_the_last_column() {
    for names in [Names::Etl, Names::Cryo] {
        let mut rows = Rows::new(&NUMBERS, Form { hex: false, names });
        let most = U256::from(10).pow(U256::from(38)) - U256::ONE;
        let last = 9_223_372_036_854;
        for (number, value, time) in [
            (i64::MAX as u64, most, last),
            (u64::MAX, most + U256::ONE, last + 1),
            (0, U256::MAX, u64::MAX),
        ] {
            rows.int(number);
            rows.wei(value);
            rows.seconds(time);
            rows.end();
        }
        let batch = rows.finish().unwrap().batches.remove(0);
        let nulls = |column: usize| -> Vec<bool> {
            (0..3).map(|row| batch.column(column).is_null(row)).collect()
        };
        assert_eq!(nulls(0), [false, true, false]);
        assert_eq!(nulls(1), [false, true, true]);
        assert_eq!(nulls(2), [false, true, true]);
        assert_eq!(nulls(3), [true, false, false]);
        let large = batch.column(3).as_list::<i32>().value(2);
        let (columns, numbers) = (large.as_struct().column(0), large.as_struct().column(1));
        let column = |at| columns.as_string::<i32>().value(at);
        let number = |at| numbers.as_binary::<i32>().value(at);
        let value = if names == Names::Etl { "value" } else { "wei" };
        assert_eq!((column(0), column(1)), (value, "time"));
        assert_eq!(number(0), [0xff; 32]);
        let micros = u128::from(u64::MAX) * 1_000_000;
        assert_eq!(number(1), &micros.to_be_bytes()[16 - number(1).len()..]);
        assert_ne!(number(1)[0], 0);
    }
}

#[test]
fn bytes_are_bytes_or_text_and_long_rows_are_cut_into_batches() {
    for hex in [false, true] {
        let mut rows = rows(hex);
        let long = vec![0xab; 20 << 20];
        for number in 0..3 {
            rows.int(number as u64);
            rows.none();
            rows.seconds(1);
            rows.bytes(&[0x0f, 0xa0]);
            rows.list([&long[..], &[]].into_iter());
            // none, an empty list, and a list of two
            match number {
                0 => rows.none(),
                _ => rows.structs(0..2 * (number - 1), add_part),
            }
            rows.end();
        }
        let batches = rows.finish().unwrap();
        assert_eq!((batches.rows(), batches.batches.len()), (3, 2));
        let first = &batches.batches[0];
        assert!(first.column(1).is_null(0) && !first.column(0).is_null(1));
        match hex {
            true => assert_eq!(first.column(3).as_string::<i32>().value(1), "0x0fa0"),
            false => assert_eq!(first.column(3).as_fixed_size_binary().value(1), [0x0f, 0xa0]),
        }
        let lists = first.column(4).as_list::<i32>().value(0);
        let length = match hex {
            true => lists.as_string::<i32>().value(0).len(),
            false => lists.as_binary::<i32>().value(0).len() * 2 + 2,
        };
        assert_eq!((lists.len(), length), (2, long.len() * 2 + 2));

        let parts = first.column(5).as_list::<i32>();
        assert!(parts.is_null(0) && !parts.is_null(1) && parts.value(1).is_empty());
        let parts = batches.batches[1].column(5).as_list::<i32>().value(0);
        let parts = parts.as_struct();
        let numbers = parts.column(0).as_primitive::<Int64Type>().values();
        let lists = parts.column(2).as_list::<i32>();
        assert_eq!((&numbers[..], lists.value(0).len(), lists.value(1).len()), (&[7, 8][..], 0, 1));
        match hex {
            true => assert_eq!(parts.column(1).as_string::<i32>().value(1), "0x0001"),
            false => assert_eq!(parts.column(1).as_fixed_size_binary().value(1), [0, 1]),
        }
    }
}

fn add_part(rows: &mut Rows, number: u8) {
    rows.int(7 + number);
    rows.bytes(&[0, number]);
    rows.list([&[1, 2][..]; 1].into_iter().take(number.into()));
}

#[test]
fn a_value_of_the_wrong_length_within_a_structure_is_an_error() {
    for length in [1, 2] {
        let mut rows = rows(false);
        rows.int(1);
        rows.none();
        rows.seconds(1);
        rows.bytes(&[0, 0]);
        rows.list([].into_iter());
        let add = |rows: &mut Rows, length: usize| {
            rows.int(1);
            rows.bytes(&[1, 2][..length]);
            rows.list([].into_iter());
        };
        rows.structs([length].into_iter(), add);
        rows.end();
        assert_eq!(rows.finish().is_ok(), length == 2);
    }
}
