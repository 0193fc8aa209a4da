"""The rows of shards: rows of earlier runs, and rows that workers write now."""

from functools import partial as task

from . import worker
from .folder import Folder, Shard
from .worker import on_workers

# the columns that the driver keeps
SLIM = ["shard", "size", "after", "sha256", "document", "status", "starts_at", "is_open", "message"]
SLIM += ["file", "offset"]


class Rows:
    """Provides rows to the driver, and counts the tasks."""

    def __init__(self, spark, job):
        self.spark, self.job = spark, job
        self.verified_now = self.finished_before = 0
        # shards with a row
        self.shards = []

    def of(self, shards):
        """Returns the rows of shards, by shard, with the columns that the driver keeps. Verifies
        shards that have no row for the current content of their files, the largest first."""
        there = Folder(self.job.state).names("shards")
        known = [shard for shard in shards if self.job.name(shard) in there]
        finished = self.collected(worker.finished_shard, known)
        to_do = [shard for shard in shards if shard not in finished]
        to_do.sort(key=lambda shard: -shard.size)
        done = self.collected(worker.verify_shard, to_do)
        if missing := [shard.url for shard in to_do if shard not in done]:
            raise RuntimeError(f"expected a row of each shard, found none of {missing[0]}")
        self.shards += shards
        self.finished_before += len(finished)
        self.verified_now += len(to_do)
        return finished | done

    def collected(self, what, shards):
        """Runs `what` on these shards. Returns the rows with the columns that the driver keeps."""
        if not shards:
            return {}
        rows = on_workers(self.spark, task(what, self.job), shards).select(*SLIM).collect()
        return {Shard(row.shard, row.size, row.after): row for row in rows}
