//! Reuses the records of files that have not changed.

use super::{FileStamp, Saved};
use crate::index::Found;

/// The part of a saved index that is still valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reusable {
    /// Records of unchanged files; [`Found::file`] is an index in the new list of files.
    pub found: Vec<Found>,
    /// Indices of new and changed files, in order, which must be scanned.
    pub to_scan: Vec<u32>,
}

/// Compares a saved index with the present files.
pub fn reuse(saved: Saved, files: &[FileStamp]) -> Reusable {
    let mut indexes = std::collections::HashMap::new();
    for (index, file) in files.iter().enumerate() {
        indexes.entry(&file.path).or_insert(index);
    }
    let mut new_indexes = vec![None; saved.files.len()];
    let mut is_reused = vec![false; files.len()];
    for (new_index, file) in new_indexes.iter_mut().zip(&saved.files) {
        let same = indexes.get(&file.path).copied().filter(|index| files[*index] == *file);
        if let Some(index) = same.filter(|index| !std::mem::replace(&mut is_reused[*index], true)) {
            *new_index = Some(index as u32);
        }
    }
    let mut found = saved.found;
    found.retain_mut(|record| match new_indexes.get(record.file as usize) {
        Some(Some(index)) => {
            record.file = *index;
            true
        }
        _ => false,
    });
    let to_scan = (0..files.len()).filter(|index| !is_reused[*index]).map(|index| index as u32);
    Reusable { found, to_scan: to_scan.collect() }
}
