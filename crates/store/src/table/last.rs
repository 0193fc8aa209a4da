//! Reading the last pairs of a range without the others.
//!
//! Pages are read forwards only, because keys are delta-encoded against the key before. So the
//! search reads the last pages of each run that may contain the end of the range; if these have too
//! few live keys, it reads twice as many.

use std::{collections::VecDeque, ops::Bound};

use super::Runs;
use crate::error::Result;

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

impl Runs {
    /// The last `limit` live pairs of a range as of the last commit, the last one first; fewer if
    /// there are fewer.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] and [`crate::Error::Io`] of reading.
    pub fn last(&self, range: (Bound<&[u8]>, Bound<&[u8]>), limit: usize) -> Result<Vec<Pair>> {
        let mut pages = 1;
        loop {
            let (from, is_all) = self.last_pages(range, pages);
            let mut found = VecDeque::new();
            let mut scan = self.scan((from, range.1))?;
            while let Some((key, value)) = scan.next()? {
                if found.len() == limit {
                    found.pop_front();
                }
                if limit > 0 {
                    found.push_back((key.to_vec(), value.to_vec()));
                }
            }
            if is_all || found.len() == limit {
                return Ok(found.into_iter().rev().collect());
            }
            pages *= 2;
        }
    }

    /// Where the last `pages` pages of each run begin that may hold keys of the range, and whether
    /// these are all that do.
    fn last_pages<'a>(
        &'a self,
        range: (Bound<&'a [u8]>, Bound<&'a [u8]>),
        pages: usize,
    ) -> (Bound<&'a [u8]>, bool) {
        let starts = self.runs.iter().filter_map(|run| {
            let end = match range.1 {
                Bound::Unbounded => run.pages(),
                Bound::Included(key) | Bound::Excluded(key) => {
                    run.index.page_of(key).map_or(0, |page| page + 1)
                }
            };
            // keys of pages before are below the separator
            (end > pages).then(|| run.index.separator(end - pages))
        });
        match (starts.max(), range.0) {
            (None, first) => (first, true),
            (Some(start), Bound::Included(first) | Bound::Excluded(first)) if start <= first => {
                (range.0, true)
            }
            (Some(start), _) => (Bound::Included(start), false),
        }
    }
}
