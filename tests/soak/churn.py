"""Concurrent inserts, removals and matches with an oracle for each answer. Run as a module for a long soak:

    python -m tests.soak.churn --seconds 600

The writer numbers its changes. A reader notes the number before and after its match: every subscription untouched in
between must be in the answer exactly if the oracle says so, and one that changed may be either way.
"""

import argparse
import threading
import time

import numpy as np
from tests.unit.engines.test_tamis import ATTRIBUTES, dictionary, random_events, random_table

from tamis.encoding.events import EventBatch
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.scan import ScanEngine
from tamis.engines.tamis import TamisEngine, TamisOptions

IDS = 6000


class Churn:
    """One engine under churn, a pool of prepared subscriptions, and a journal of who was there when."""

    def __init__(self, seed: int, merge_least: int) -> None:
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.names = dictionary()
        self.pool: SubscriptionTable = random_table(rng, IDS, self.names, width=5)
        self.batches = [random_events(rng, 64, ATTRIBUTES, repeats=repeats) for repeats in (True, False)]
        scan = ScanEngine(self.pool)
        self.truth = [[set(found.of(e).tolist()) for e in range(64)] for found in map(scan.match, self.batches)]
        self.start = np.searchsorted(self.pool.owners, np.arange(IDS + 1))
        live = np.arange(IDS) < IDS // 2
        first = self.pool.take(np.flatnonzero(live[self.pool.owners]))
        self.engine = TamisEngine.build(first, TamisOptions(merge_least=merge_least))
        self.live = live.copy()
        self.changed = np.zeros(IDS, np.int64)
        self.step = 0
        self.guard = threading.Lock()
        self.problems: list[str] = []
        self.checked = self.changes = 0

    def part(self, ids: np.ndarray) -> SubscriptionTable:
        """The prepared conjunctions of some subscriptions."""
        rows = np.concatenate([np.arange(self.start[i], self.start[i + 1]) for i in ids])
        return self.pool.take(rows)

    def write(self, deadline: float) -> None:
        """Remove some that are there and insert some that are not, until the deadline."""
        while time.monotonic() < deadline:
            there, absent = np.flatnonzero(self.live), np.flatnonzero(~self.live)
            gone = self.rng.choice(there, min(40, len(there)), replace=False)
            fresh = np.sort(self.rng.choice(absent, min(40, len(absent)), replace=False))
            with self.guard:
                self.step += 1
                self.changed[gone], self.changed[fresh] = self.step, self.step
            self.engine.remove(gone.astype(np.int32))
            self.engine.insert(self.part(fresh))
            with self.guard:
                self.live[gone], self.live[fresh] = False, True
                self.step += 1
                self.changed[gone], self.changed[fresh] = self.step, self.step
            self.changes += len(gone) + len(fresh)

    def read(self, deadline: float, seed: int) -> None:
        """Match and compare, until the deadline."""
        rng = np.random.default_rng(seed)
        while time.monotonic() < deadline and not self.problems:
            which, first = int(rng.integers(0, 2)), int(rng.integers(0, 64))
            count = 1 if rng.random() < 0.5 else int(rng.integers(1, 48))
            batch = self.batches[which].slice(first, min(64, first + count))
            with self.guard:
                before, live = self.step, self.live.copy()
            found = self.answer(batch, rng.random() < 0.5)
            with self.guard:
                settled = (self.changed < before) | ((self.changed == before) & (before % 2 == 0))
            for e in range(len(batch)):
                ids = found.of(e).tolist()
                wanted = {i for i in self.truth[which][first + e] if live[i] and settled[i]}
                answer = {i for i in ids if settled[i]}
                if len(set(ids)) != len(ids) or answer != wanted:
                    self.problems.append(f"event {first + e}: {sorted(answer ^ wanted)} differ at step {before}")
            self.checked += len(batch)

    def answer(self, batch: EventBatch, short: bool) -> MatchSet:
        """What the engine finds; a plain event alone may go the short way."""
        if short and len(batch) == 1 and not batch.multi:
            ids = self.engine.match_single(([], batch.keys.tolist(), batch.attrs.tolist()))
            assert ids is not None
            return MatchSet(np.array([0, len(ids)]), ids)
        return self.engine.match(batch)

    def finish(self) -> None:
        """While no other thread runs: every answer must be exactly right."""
        self.engine.wait()
        for batch, truths in zip(self.batches, self.truth, strict=True):
            found = self.engine.match(batch)
            for e, truth in enumerate(truths):
                if sorted(found.of(e).tolist()) != sorted(i for i in truth if self.live[i]):
                    self.problems.append(f"event {e} differs at the end")


def main() -> None:
    """Soak for as long as asked, printing a line every ten seconds."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=600)
    arguments.add_argument("--readers", type=int, default=2)
    given = arguments.parse_args()
    churn = Churn(seed=0, merge_least=2000)
    churn.finish()  # compiles what there is to compile before the clock starts
    deadline = time.monotonic() + given.seconds
    threads = [threading.Thread(target=churn.write, args=(deadline,))]
    threads += [threading.Thread(target=churn.read, args=(deadline, seed)) for seed in range(given.readers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(10, given.seconds))
        report = f"{churn.changes:,} changes, {churn.checked:,} events checked, {churn.engine.merges} merges"
        print(f"{report}, {len(churn.problems)} problems", flush=True)  # noqa: T201
    churn.finish()
    if not churn.checked or not churn.engine.merges:
        churn.problems.append("too little happened to say anything")
    print("\n".join(churn.problems) or "every answer was right")  # noqa: T201
    raise SystemExit(1 if churn.problems else 0)


if __name__ == "__main__":
    main()
