//! Run records of schema 1: four times of each chunk and of the run, under the names of an import
//! of headers whatever the chain.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::percentile::Percentiles;
use crate::record::{RunRecord, SCHEMA, VALIDATION, WRITE};

/// What schema 1 says otherwise.
#[derive(Deserialize)]
pub(crate) struct Schema1 {
    #[serde(default)]
    chunks: Vec<Busy>,
    totals: Busy,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Busy {
    read_s: f64,
    decode_s: f64,
    validate_s: f64,
    write_s: f64,
}

impl Busy {
    fn list(&self) -> Vec<f64> {
        vec![self.read_s, self.decode_s, self.validate_s, self.write_s]
    }
}

impl Schema1 {
    /// Fills what `record`, read from the same text, has under other names.
    pub fn fill(&self, record: &mut RunRecord) {
        record.schema = SCHEMA;
        record.phases = match record.reindex {
            // what it called set-up was the index
            Some(_) => {
                record.totals.setup_s = 0.0;
                ["read", "bodies", "scripts", "coins"]
            }
            None => ["read", "decode", VALIDATION, WRITE],
        }
        .map(String::from)
        .to_vec();
        for (chunk, busy) in record.chunks.iter_mut().zip(&self.chunks) {
            chunk.busy_s = busy.list();
        }
        record.totals.busy_s = self.totals.list();
        record.take_percentiles();
    }
}

/// The percentiles of each phase. Schema 1 has an object of two, which follows from the chunks.
pub(crate) fn percentiles<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Percentiles>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Phases(Vec<Percentiles>),
        Two(IgnoredAny),
    }
    Ok(match Either::deserialize(deserializer)? {
        Either::Phases(list) => list,
        Either::Two(_) => vec![],
    })
}
