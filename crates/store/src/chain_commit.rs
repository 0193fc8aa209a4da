//! Committing a chain store, and returning to an earlier block.

use crate::{
    chain_store::ChainStore,
    column::Column,
    crash::CrashPoint,
    error::{Result, hex, mismatch},
    manifest::MAX_STATE,
    segment::Segment,
    store::CommitPart,
    tip::Tip,
};

/// Further parts that a commit includes, and the kind of the commit.
enum Others<'a, 'p> {
    Light(&'a mut [CommitPart<'p>]),
    Durable(&'a mut [CommitPart<'p>]),
}

/// All segments of a store for writing, in the order of [`SEGMENTS`].
fn segments<'a>(columns: &'a mut [Column; 3], hashes: &'a mut Segment) -> [&'a mut Segment; 7] {
    let [headers, bodies, receipts] = columns;
    [
        &mut headers.data,
        &mut headers.ends,
        &mut bodies.data,
        &mut bodies.ends,
        &mut receipts.data,
        &mut receipts.ends,
        hashes,
    ]
}

impl ChainStore {
    /// Commits everything appended so far. After it returns, the death of the process loses
    /// nothing; [`ChainStore::sync`] protects against power loss.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] when `tip` is not the last appended block; nothing is written
    /// then.
    pub fn commit(&mut self, tip: &Tip) -> Result<()> {
        self.writable()?;
        self.check_tip(tip, self.next())?;
        self.commit_as(tip, Others::Light(&mut []))
    }

    /// Commits everything appended so far together with `parts`, some of the parts that
    /// [`ChainStore::open_with`] opened, and with `state`, which belongs to them: all or nothing.
    /// The commit is durable when the call returns. Other commits repeat what the last commit of
    /// this kind said of the parts, so blocks may be committed ahead of them.
    ///
    /// # Errors
    /// As [`ChainStore::commit`]; [`crate::Error::Mismatch`] if a part does not belong to this
    /// store, or if `state` is longer than half a mebibyte.
    pub fn commit_with(
        &mut self,
        tip: &Tip,
        parts: &mut [CommitPart<'_>],
        state: &[u8],
    ) -> Result<()> {
        self.check_parts(parts, state)?;
        self.check_tip(tip, self.next())?;
        state.clone_into(&mut self.state_of_parts);
        self.commit_as(tip, Others::Durable(parts))
    }

    /// Makes a light commit of blocks and segments. The death of the process loses nothing; after a
    /// power loss, blocks and segments are those of the last commit that reached the disk
    /// completely.
    ///
    /// # Errors
    /// As [`ChainStore::commit_with`]; [`crate::Error::Mismatch`] if a table or a log file among
    /// `parts` has changed since the last commit, or if a segment was cut.
    pub fn commit_light_with(
        &mut self,
        tip: &Tip,
        parts: &mut [CommitPart<'_>],
        state: &[u8],
    ) -> Result<()> {
        self.check_parts(parts, state)?;
        self.check_tip(tip, self.next())?;
        state.clone_into(&mut self.state_of_parts);
        self.commit_as(tip, Others::Light(parts))
    }

    /// Makes everything committed so far survive a power loss.
    pub fn sync(&mut self) -> Result<()> {
        self.writable()?;
        if self.count() != self.committed {
            return Err(mismatch("blocks to sync", self.committed, self.count()));
        }
        self.commit_as(&{ self.state.tip }, Others::Durable(&mut []))
    }

    /// Removes all blocks after `tip`, those not yet committed included, and makes `tip` the last
    /// committed block. Durable when it returns.
    ///
    /// # Errors
    /// [`crate::Error::Mismatch`] when the store does not hold that block; nothing changes then.
    pub fn truncate_after(&mut self, tip: &Tip) -> Result<()> {
        let state = self.state_of_parts.clone();
        self.truncate_after_with(tip, &mut [], &state)
    }

    /// Removes all blocks after `tip` together with `parts`, which their owner has rolled back to
    /// that block, and `state`, as in [`ChainStore::commit_with`].
    ///
    /// # Errors
    /// As [`ChainStore::truncate_after`] and [`ChainStore::commit_with`].
    pub fn truncate_after_with(
        &mut self,
        tip: &Tip,
        parts: &mut [CommitPart<'_>],
        state: &[u8],
    ) -> Result<()> {
        self.check_parts(parts, state)?;
        let count = match tip.number.checked_sub(self.state.first) {
            Some(position) if position < self.count() => position + 1,
            _ => {
                let (first, last) = (self.state.first, self.next().wrapping_sub(1));
                let expected = match first == last {
                    true => format!("block {last}"),
                    false => format!("one of the blocks {first} to {last}"),
                };
                return Err(mismatch("block to go back to", expected, tip.number));
            }
        };
        self.check_kept(tip.number)?;
        self.check_tip(tip, self.state.first + count)?;
        self.change(|chain| {
            for column in chain.columns.iter_mut().filter(|column| column.count() > 0) {
                column.data.cut(column.end_of(count - 1)?)?;
                column.ends.cut(count * 8)?;
            }
            chain.hashes.cut(count * 32)
        })?;
        state.clone_into(&mut self.state_of_parts);
        self.commit_as(tip, Others::Durable(parts))?;
        self.change(|chain| {
            chain.reach(CrashPoint::HalfCut)?;
            chain.index.restore(count, count, &chain.hashes.file, true).map(drop)
        })
    }

    /// Checks that `tip` is the block before number `next`.
    fn check_tip(&self, tip: &Tip, next: u64) -> Result<()> {
        if self.count() == 0 || tip.number != next - 1 {
            let last = next.checked_sub(1).map_or("none".into(), |n| n.to_string());
            return Err(mismatch("number of the last block", last, tip.number));
        }
        let hash = self.hash_of(tip.number)?;
        if hash != Some(tip.hash) {
            let expected = hash.map_or("none".into(), |hash| hex(&hash));
            let found = hex(&tip.hash);
            return Err(mismatch("hash of the last block", expected, found));
        }
        Ok(())
    }

    /// Checks that parts and their state can be committed.
    pub(crate) fn check_parts(&mut self, parts: &[CommitPart<'_>], state: &[u8]) -> Result<()> {
        if state.len() > MAX_STATE / 2 {
            let expected = format!("at most {}", MAX_STATE / 2);
            return Err(mismatch("bytes of state of parts", expected, state.len()));
        }
        self.writable()?.check(parts)
    }

    /// Commits the blocks up to `tip` with other parts.
    fn commit_as(&mut self, tip: &Tip, others: Others<'_, '_>) -> Result<()> {
        self.change(|chain| {
            chain.reach(CrashPoint::BeforeCommit)?;
            if matches!(others, Others::Durable(_)) { chain.index.sync() } else { Ok(()) }
        })?;
        self.state.tip = *tip;
        let state = match self.count() {
            0 => vec![],
            _ => [&self.state.encode()[..], &self.state_of_parts].concat(),
        };
        let ChainStore { columns, hashes, store: Some(store), .. } = self else { return Ok(()) };
        let mut parts: Vec<_> =
            segments(columns, hashes).map(CommitPart::Segment).into_iter().collect();
        match others {
            Others::Durable(others) => {
                parts.extend(others.iter_mut().map(CommitPart::reborrow));
                store.commit_some(&mut parts, &state)?;
            }
            Others::Light(others) => {
                parts.extend(others.iter_mut().map(CommitPart::reborrow));
                store.commit_some_light(&mut parts, &state)?;
            }
        }
        self.committed = self.count();
        Ok(())
    }
}
