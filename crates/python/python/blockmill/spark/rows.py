"""The rows of shards: those that are there, and those that workers make now."""

from functools import partial as task

from . import worker
from .folder import Folder, Shard
from .worker import on_workers

# what the driver keeps of a row
SLIM = ["shard", "size", "after", "sha256", "document", "status", "starts_at", "is_open", "message"]
SLIM += ["file", "offset"]


class Rows:
    """Where the driver gets rows from. What was asked for is counted."""

    def __init__(self, spark, job):
        self.spark, self.job = spark, job
        self.verified_now = self.finished_before = 0
        # of which there are rows
        self.shards = []

    def of(self, shards):
        """What the driver keeps of the rows of shards, by shard. Those are verified that have no row
        for the bytes that their file has now, the largest first."""
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
        """What the driver keeps of the rows that `what` yields of these shards."""
        if not shards:
            return {}
        rows = on_workers(self.spark, task(what, self.job), shards).select(*SLIM).collect()
        return {Shard(row.shard, row.size, row.after): row for row in rows}
