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

fn rows(hex: bool) -> Rows {
    Rows::new(&TABLE, Form { hex, names: Names::Etl })
}

#[test]
fn a_number_that_does_not_fit_is_named_with_its_column() {
    let mut rows = rows(false);
    let error = rows.int(u64::MAX).unwrap_err();
    assert_eq!((error.column, &*error.found), ("number", "18446744073709551615"));
    rows.int(i64::MAX as u64).unwrap();

    let most = 10_u128.pow(38) - 1;
    let error = rows.wei(most + 1).unwrap_err();
    assert_eq!((error.column, &*error.expected), ("value", "at most 38 digits"));
    assert_eq!(error.found, format!("1{}", "0".repeat(38)));
    let error = rows.wei(u128::MAX).unwrap_err();
    assert_eq!(error.found, u128::MAX.to_string());
    rows.wei(most).unwrap();

    assert_eq!(rows.seconds(u64::MAX).unwrap_err().column, "time");
    assert_eq!(rows.seconds(9_223_372_036_855).unwrap_err().expected, "below 2^63 microseconds");
    rows.seconds(9_223_372_036_854).unwrap();

    let error = Error::Overflow { table: "table", block: 7, row: Some(3), overflow: error };
    let text = error.to_string();
    let expected = "value of table: block 7, row 3: expected at most 38 digits, found";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(error.status(), chain::Status::Usage);
}

#[test]
fn bytes_are_bytes_or_text_and_long_rows_are_cut_into_batches() {
    for hex in [false, true] {
        let mut rows = rows(hex);
        let long = vec![0xab; 20 << 20];
        for number in 0..3 {
            rows.int(number as u64).unwrap();
            rows.none();
            rows.seconds(1).unwrap();
            rows.bytes(&[0x0f, 0xa0]);
            rows.list([&long[..], &[]].into_iter());
            // none, an empty list, and a list of two
            match number {
                0 => rows.none(),
                _ => rows.structs(0..2 * (number - 1), add_part).unwrap(),
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

fn add_part(rows: &mut Rows, number: u8) -> Result<(), Overflow> {
    rows.int(7 + number)?;
    rows.bytes(&[0, number]);
    rows.list([&[1, 2][..]; 1].into_iter().take(number.into()));
    Ok(())
}

#[test]
fn a_value_of_the_wrong_length_within_a_structure_is_an_error() {
    for length in [1, 2] {
        let mut rows = rows(false);
        rows.int(1).unwrap();
        rows.none();
        rows.seconds(1).unwrap();
        rows.bytes(&[0, 0]);
        rows.list([].into_iter());
        let add = |rows: &mut Rows, length: usize| {
            rows.int(1)?;
            rows.bytes(&[1, 2][..length]);
            rows.list([].into_iter());
            Ok(())
        };
        rows.structs([length].into_iter(), add).unwrap();
        rows.end();
        assert_eq!(rows.finish().is_ok(), length == 2);
    }
}
