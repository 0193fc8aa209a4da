//! The index of a run, in memory: a separator for each page, the shortest key that is not above the
//! page's first and above all before, and where the page is.

use std::cmp::Ordering;

use super::key::prefix;

/// Bytes of a page in the index in addition to its separator: its first unit, the separator's
/// length.
pub(crate) const INDEX_ENTRY: usize = 5;

/// The entry of a page in memory.
#[derive(Default)]
pub(crate) struct Index {
    /// The first eight bytes of each separator.
    prefixes: Vec<u64>,
    /// First unit of each page, and one past the last unit.
    pub starts: Vec<u32>,
    /// All separators, and where each ends.
    separators: Vec<u8>,
    ends: Vec<u32>,
}

impl Index {
    /// Takes in the next page. None when the separators are too many bytes for one run.
    pub fn push(&mut self, separator: &[u8], start: u32) -> Option<()> {
        self.separators.extend_from_slice(separator);
        self.ends.push(u32::try_from(self.separators.len()).ok()?);
        self.prefixes.push(prefix(separator));
        self.starts.push(start);
        Some(())
    }

    /// No page comes any more; the last one ends at `end`.
    pub fn finish(&mut self, end: u32) {
        self.starts.push(end);
        self.prefixes.shrink_to_fit();
        self.starts.shrink_to_fit();
        self.separators.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.prefixes.len()
    }

    /// Bytes in memory.
    pub fn memory(&self) -> usize {
        self.prefixes.capacity() * 8
            + (self.starts.capacity() + self.ends.capacity()) * 4
            + self.separators.capacity()
    }

    /// The separator of a page.
    pub fn separator(&self, page: usize) -> &[u8] {
        let start = page.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.separators[start..self.ends[page] as usize]
    }

    /// The index as it is on disk.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.separators.len() + self.pages() * INDEX_ENTRY);
        for (page, start) in self.starts[..self.pages()].iter().enumerate() {
            let separator = self.separator(page);
            out.extend(start.to_le_bytes());
            out.push(separator.len() as u8);
            out.extend_from_slice(separator);
        }
        out
    }

    /// Reads an index of `pages` pages that end at unit `end`. None when it makes no sense.
    pub fn decode(mut bytes: &[u8], pages: u64, end: u32) -> Option<Index> {
        let mut index = Index::default();
        index.prefixes.reserve_exact(usize::try_from(pages).ok()?.min(bytes.len()));
        while let Some((head, rest)) = bytes.split_first_chunk::<INDEX_ENTRY>() {
            let [start @ .., len] = *head;
            let (separator, rest) = rest.split_at_checked(len.into())?;
            let start = u32::from_le_bytes(start);
            let follows = match index.pages().checked_sub(1) {
                None => start == 0,
                Some(last) => index.starts[last] < start && index.separator(last) < separator,
            };
            if !follows || separator.is_empty() || start >= end {
                return None;
            }
            index.push(separator, start)?;
            bytes = rest;
        }
        if !bytes.is_empty() || index.pages() as u64 != pages {
            return None;
        }
        index.finish(end);
        Some(index)
    }

    /// The page that holds `key` if any does.
    #[inline]
    pub fn page_of(&self, key: &[u8]) -> Option<usize> {
        let wanted = prefix(key);
        let mut count = first_above(&self.prefixes, wanted);
        if count > 0 && self.prefixes[count - 1] == wanted && self.separator(count - 1) > key {
            // separators that begin alike
            let same = self.prefixes[..count].partition_point(|prefix| *prefix < wanted);
            let (mut low, mut high) = (same, count);
            while low < high {
                let middle = low.midpoint(high);
                match self.separator(middle).cmp(key) {
                    Ordering::Greater => high = middle,
                    _ => low = middle + 1,
                }
            }
            count = low;
        }
        count.checked_sub(1)
    }
}

/// How many of the sorted numbers are not above `wanted`. Evenly spread numbers are found where
/// they should be, others by bisection.
fn first_above(sorted: &[u64], wanted: u64) -> usize {
    let guess = ((u128::from(wanted) * sorted.len() as u128) >> 64) as usize;
    let mut width = 32;
    loop {
        let low = guess.saturating_sub(width);
        let high = (guess + width).min(sorted.len());
        let low_holds = low == 0 || sorted[low - 1] <= wanted;
        let high_holds = high == sorted.len() || sorted[high] > wanted;
        if low_holds && high_holds {
            return low + sorted[low..high].partition_point(|prefix| *prefix <= wanted);
        }
        width *= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_found_among_even_and_uneven_ones() {
        let even: Vec<u64> = (0..5000u64).map(|n| n << 51 | n).collect();
        let uneven: Vec<u64> = (0..5000u64).map(|n| n / 7 * 3).collect();
        for sorted in [&even, &uneven, &vec![], &vec![u64::MAX], &vec![5; 400]] {
            let near = sorted.iter().flat_map(|p| [p.wrapping_sub(1), *p, p.wrapping_add(1)]);
            for wanted in near.chain([0, u64::MAX]) {
                let expected = sorted.iter().filter(|p| **p <= wanted).count();
                assert_eq!(first_above(sorted, wanted), expected);
            }
        }
    }

    #[test]
    fn a_page_is_found_by_separators_that_begin_alike() {
        let mut separators: Vec<Vec<u8>> = vec![b"a".to_vec(), b"a\0".to_vec(), b"b".to_vec()];
        separators.extend((0..=255u8).map(|n| [b"long beginning", &[n][..]].concat()));
        separators.extend([b"long beginning\xff\xff".to_vec(), b"m".to_vec()]);
        let mut index = Index::default();
        for (page, separator) in separators.iter().enumerate() {
            index.push(separator, page as u32).unwrap();
        }
        index.finish(separators.len() as u32);
        let (pages, end) = (index.pages() as u64, separators.len() as u32);
        let index = Index::decode(&index.encode(), pages, end).unwrap();
        let near =
            |key: &Vec<u8>| [key.clone(), [key, &[0][..]].concat(), key[..key.len() - 1].into()];
        for key in separators.iter().flat_map(near).chain([b"longer".to_vec(), vec![255; 9]]) {
            let expected = separators.iter().filter(|s| **s <= key).count().checked_sub(1);
            assert_eq!(index.page_of(&key), expected, "{key:?}");
        }
        assert!(Index::decode(&index.encode(), pages + 1, end).is_none());
        assert!(Index::decode(&index.encode(), pages, end - 1).is_none());
    }
}
