//! Rows whose values do not fit, and rows in every form.

use super::*;
use crate::schema::Names;
use arrow_array::Array;
use arrow_array::cast::AsArray;

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
    }
}
