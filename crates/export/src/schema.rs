//! Tables as data: names, types, and how each column is written. Every chain has its own list.

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use blockmill_verdict::Level;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use std::sync::Arc;

/// Most digits of a number of [`Kind::Wei`].
pub const DIGITS: u8 = 38;

/// Rows that the Bloom filter of a row group is made for; with fewer it becomes smaller.
const BLOOM_ROWS: u64 = 1 << 20;

/// How many of the values that are not there a Bloom filter takes for such that are.
const BLOOM_FALSE: f64 = 0.01;

/// What the values of a column are.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Byte strings of one length.
    Fixed(u16),
    /// Byte strings.
    Bytes,
    /// Lists of byte strings of one length.
    Fixeds(u16),
    /// Lists of byte strings.
    Strings,
    /// Lists of structures, each of which has these columns.
    Structs(&'static Table),
    /// Whole numbers below 2^63.
    Int,
    /// Whole numbers of at most [`DIGITS`] digits.
    Wei,
    /// Moments, in microseconds UTC.
    Time,
    /// Words.
    Text,
    /// True or false.
    Bool,
}

impl Kind {
    /// As how many columns Parquet has one of this kind: a structure is one for each of its own.
    #[must_use]
    pub fn leaves(self) -> usize {
        match self {
            Self::Structs(table) => leaves(table.columns),
            _ => 1,
        }
    }
}

fn leaves(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.kind.leaves()).sum()
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name in ethereum-etl or bitcoin-etl, where these have it.
    pub name: &'static str,
    /// Its name in cryo.
    pub cryo: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// May values be missing?
    pub nullable: bool,
    /// Has it a Bloom filter?
    pub searched: bool,
    /// Is each value as good as random, so that nothing can be compressed?
    pub random: bool,
    /// The least level that fills it, where its table needs a lower one: null below that.
    pub level: Option<Level>,
    /// What it is, in a sentence.
    pub about: &'static str,
}

impl Column {
    /// A column of which every row has a value.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        let (nullable, searched, random) = (false, false, false);
        Self { name, cryo: name, kind, nullable, searched, random, level: None, about }
    }

    /// The same under another name in cryo.
    #[must_use]
    pub const fn cryo(self, cryo: &'static str) -> Self {
        Self { cryo, ..self }
    }

    /// The same where values may be missing.
    #[must_use]
    pub const fn or_none(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// The same where values are missing below this level.
    #[must_use]
    pub const fn filled_at(self, level: Level) -> Self {
        Self { nullable: true, level: Some(level), ..self }
    }

    /// The level that it needs, if it is null at `level`.
    #[must_use]
    pub fn null_at(&self, level: Level) -> Option<Level> {
        self.level.filter(|needed| level < *needed)
    }

    /// The type of its values, in words.
    #[must_use]
    pub fn type_name(&self, form: Form) -> String {
        let name = match self.kind {
            Kind::Fixed(_) | Kind::Bytes if form.hex => "string".into(),
            Kind::Fixeds(_) | Kind::Strings if form.hex => "list of string".into(),
            Kind::Structs(table) => {
                let field = |of: &Self| format!("{}: {}", form.name_of(of), of.type_name(form));
                let fields: Vec<_> = table.columns.iter().map(field).collect();
                format!("list of struct({})", fields.join(", "))
            }
            Kind::Fixed(width) => format!("fixed_size_binary({width})"),
            Kind::Bytes => "binary".into(),
            Kind::Fixeds(width) => format!("list of fixed_size_binary({width})"),
            Kind::Strings => "list of binary".into(),
            Kind::Int => "int64".into(),
            Kind::Wei => format!("decimal128({DIGITS}, 0)"),
            Kind::Time => format!("timestamp(us, {UTC})"),
            Kind::Text => "string".into(),
            Kind::Bool => "boolean".into(),
        };
        if self.nullable { format!("{name}, or null") } else { name }
    }

    /// The same with a Bloom filter.
    #[must_use]
    pub const fn searched(self) -> Self {
        Self { searched: true, ..self }
    }

    /// The same with values that nothing can compress.
    #[must_use]
    pub const fn random(self) -> Self {
        Self { random: true, ..self }
    }
}

/// A table of a chain.
#[derive(Debug)]
pub struct Table {
    /// Its name, as users say it.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// The columns that rows are sorted by.
    pub sorted: &'static [&'static str],
}

/// Whose names the columns and files have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// Those of ethereum-etl and bitcoin-etl, which public data sets have.
    #[default]
    Etl,
    /// Those of cryo.
    Cryo,
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Byte strings as text, `0x` and their digits.
    pub hex: bool,
    /// Whose names there are.
    pub names: Names,
}

impl Form {
    /// The name of `column`.
    #[must_use]
    pub fn name_of(self, column: &Column) -> &'static str {
        match self.names {
            Names::Etl => column.name,
            Names::Cryo => column.cryo,
        }
    }

    /// The type of the values of `kind` in memory.
    #[must_use]
    pub fn data_type(self, kind: Kind) -> DataType {
        let list = |of| DataType::List(Arc::new(Field::new(ELEMENT, of, false)));
        match kind {
            Kind::Fixed(_) | Kind::Bytes if self.hex => DataType::Utf8,
            Kind::Fixeds(_) | Kind::Strings if self.hex => list(DataType::Utf8),
            Kind::Fixed(width) => DataType::FixedSizeBinary(width.into()),
            Kind::Bytes => DataType::Binary,
            Kind::Fixeds(width) => list(DataType::FixedSizeBinary(width.into())),
            Kind::Strings => list(DataType::Binary),
            Kind::Structs(table) => list(DataType::Struct(table.schema(self).fields().clone())),
            Kind::Int => DataType::Int64,
            Kind::Wei => DataType::Decimal128(DIGITS, 0),
            Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            Kind::Text => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
        }
    }
}

/// The numbers of a row that their columns have no room for: the last column of a table in which
/// that can happen.
pub const LARGE: Column = Column::new(
    "large_numbers",
    Kind::Structs(&LARGE_NUMBER),
    "Numbers that their columns have no room for, which are null there",
)
.or_none();

/// See [`LARGE`].
pub(crate) static LARGE_NUMBER: Table = Table {
    name: "large_numbers",
    about: "A number that its column has no room for.",
    sorted: &[],
    columns: &[
        Column::new("column", Kind::Text, "The name of the column"),
        Column::new("number", Kind::Bytes, "The number in the unit of the column, big endian"),
    ],
};

/// The name of what a list holds.
pub const ELEMENT: &str = "element";

/// The time zone of all moments.
pub const UTC: &str = "UTC";

impl Table {
    /// Its columns with their types.
    #[must_use]
    pub fn schema(&self, form: Form) -> SchemaRef {
        let field = |column: &Column| {
            Field::new(form.name_of(column), form.data_type(column.kind), column.nullable)
        };
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// How its files are written: no dictionary where values are byte strings or numbers, nothing
    /// compressed that cannot be, Bloom filters, and sorted as the chain is.
    #[must_use]
    pub fn properties(&self, form: Form) -> WriterProperties {
        let zstd = Compression::ZSTD(ZstdLevel::default());
        let mut to = WriterProperties::builder()
            .set_created_by(concat!("blockmill ", env!("CARGO_PKG_VERSION")).into())
            .set_compression(zstd)
            .set_dictionary_enabled(false)
            .set_max_row_group_row_count(None)
            .set_sorting_columns(Some(self.sorting()));
        for column in self.columns {
            to = properties_of(to, column, form, &[]);
        }
        let mut properties = to.build();
        add_encoded_arrow_schema_to_metadata(&self.schema(form), &mut properties);
        properties
    }

    fn sorting(&self) -> Vec<SortingColumn> {
        let index = |name: &&str| {
            let at = self.columns.iter().position(|column| column.name == *name);
            at.map(|at| leaves(&self.columns[..at]))
        };
        let indexes = self.sorted.iter().filter_map(index);
        let ascending =
            |at| SortingColumn { column_idx: at as i32, descending: false, nulls_first: false };
        indexes.map(ascending).collect()
    }
}

fn properties_of(
    to: WriterPropertiesBuilder,
    column: &Column,
    form: Form,
    within: &[String],
) -> WriterPropertiesBuilder {
    let mut path = within.to_vec();
    path.push(form.name_of(column).into());
    if let Kind::Fixeds(_) | Kind::Strings | Kind::Structs(_) = column.kind {
        path.extend(["list".into(), ELEMENT.into()]);
    }
    if let Kind::Structs(table) = column.kind {
        let columns = table.columns.iter();
        return columns.fold(to, |to, column| properties_of(to, column, form, &path));
    }
    let path = ColumnPath::new(path);
    let mut to = match column.kind {
        Kind::Int | Kind::Time => {
            to.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
        }
        Kind::Text => to.set_column_dictionary_enabled(path.clone(), true),
        _ => to,
    };
    if column.random {
        // least and greatest of random values say nothing
        to = to.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        if !form.hex {
            to = to.set_column_compression(path.clone(), Compression::UNCOMPRESSED);
        }
    }
    if column.searched {
        to = to
            .set_column_bloom_filter_fpp(path.clone(), BLOOM_FALSE)
            .set_column_bloom_filter_max_ndv(path, BLOOM_ROWS);
    }
    to
}
