"""`tamis`: an immutable index under access keys, and a small delta of what changed since.

Readers see one immutable `State` and never wait; writers hold a lock among themselves, add to the delta or mark bits of dead
owners, and what they did is visible to the next match. When the delta has grown enough, a background thread builds the next
index from the present one and the delta, under the keys that suit the events seen lately, and swaps the state.
"""

import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tamis.arrays.store import Writer
from tamis.candidates.delta import Delta, match_view
from tamis.candidates.keyed.base import Base, new_base
from tamis.candidates.keyed.batch import BatchMatching
from tamis.candidates.keyed.best import PROBE_COST
from tamis.candidates.keyed.combine import add_matches
from tamis.candidates.keyed.decode import decode_index
from tamis.candidates.keyed.index import arrays_of
from tamis.candidates.keyed.sample import Sampler
from tamis.candidates.keyed.saved import open_index, save_index
from tamis.candidates.keyed.schemas import WIDEST
from tamis.candidates.keyed.single import FULL, LEAST_ROOM, REFUSED, WIDE, Frame, match_one, match_packed
from tamis.candidates.keyed.weights import NO_SAMPLE, Sample
from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import Int32Array
from tamis.encoding.matches import MatchSet
from tamis.encoding.single import SinglePairs
from tamis.encoding.subscriptions import SubscriptionTable
from tamis.engines.base import Capabilities, EngineStats, Options

MERGE_LEAST, MERGE_SHARE = 50_000, 0.1
"""A merge starts when the delta exceeds both this many conjunctions and this share of the index."""
REKEY_MARGIN, REKEY_SPARE, REKEY_EVENTS = 2.0, 64, 4096
"""Keys are chosen anew when events met this many times the candidates expected and some more, looked at every so many
events."""


Changed = tuple[Base, NDArray[np.uint8], list[SubscriptionTable]]


@dataclass(frozen=True, slots=True)
class TamisOptions(Options):
    """threads: how many share a batch. merge: `background`, `inline` (within the insert that makes it due) or `never`.
    merge_least: conjunctions the delta holds at least before a merge. sample: events that keys are chosen for when the
    index is built; without them the constants are all there is to go by. look_up_ns: nanoseconds that looking up a pair, a
    triple or a schema is taken to cost, where testing a candidate costs 15; less makes more and longer keys."""

    threads: int = 1
    merge: str = "background"
    merge_least: int = MERGE_LEAST
    sample: EventBatch | None = None
    look_up_ns: float = PROBE_COST


DEFAULTS = TamisOptions()


@dataclass(frozen=True, slots=True)
class State:
    """What a match sees: the base and the deltas on top of it, oldest first (two of them while a merge runs)."""

    base: Base
    deltas: tuple[Delta, ...]


def has_triples(base: Base) -> bool:
    """Whether some conjunctions are filed under triples."""
    return bool(base.built.arrays.keys.plan[3])


def too_wide(base: Base, pairs: int) -> bool:
    """Whether an event with this many pairs has too many triples for a frame."""
    return pairs > WIDE and has_triples(base)


class TamisEngine:
    """The default engine."""

    capabilities: ClassVar = Capabilities(
        "access keys, SIMD clusters, snapshots: the default", "tamis", concurrent=True
    )
    options_type: ClassVar = TamisOptions

    def __init__(self, dictionary: Dictionary, base: Base, options: TamisOptions) -> None:
        self.dictionary, self.options = dictionary, options
        self.state = State(base, (Delta(len(dictionary)),))
        self.sampler = Sampler()
        self._writer = threading.Lock()
        self._merge: threading.Thread | None = None
        self._removed_in_merge: list[Int32Array] | None = None
        self._batches = BatchMatching(options.threads)
        self._frames: list[Frame] = []
        self.merges = self.events = self.candidates = self.matches = self.hits = self.touched = 0
        self._at_check = (0, 0)
        self._problem: BaseException | None = None

    @classmethod
    def build(cls, subscriptions: SubscriptionTable, options: Options) -> Self:
        """Index everything."""
        assert isinstance(options, TamisOptions)
        events = options.sample
        sample = NO_SAMPLE if events is None else Sample(events.offsets, events.attrs, events.keys)
        base = new_base(subscriptions, sample, subscriptions.owners, options.look_up_ns)
        engine = cls(subscriptions.dictionary, base, options)
        engine.sampler.ring += [sample] if sample.events else []
        return engine

    def insert(self, subscriptions: SubscriptionTable) -> None:
        """Append to the delta; may start a merge."""
        with self._writer:
            self.state.deltas[-1].insert(subscriptions)
        self._merge_if_due()

    def remove(self, ids: Int32Array) -> None:
        """Mark as dead wherever they are."""
        ids = np.asarray(ids, np.int32)
        with self._writer:
            for delta in self.state.deltas:
                delta.remove(ids)
            self.state.base.bury(ids)
            if self._removed_in_merge is not None:
                self._removed_in_merge.append(ids)

    def match(self, events: EventBatch) -> MatchSet:
        """Index first, then the deltas."""
        state = self.state
        views = [delta.view for delta in state.deltas]  # before the base: an id that moves is then seen once at most
        self.sampler.look_at(events)
        alone = len(events) == 1 and not events.multi and not too_wide(state.base, len(events.attrs))
        if alone:
            found = self._match_alone(state.base, events)
        else:
            found, counters = self._batches.match(state.base, events)
            self._count(*counters.tolist())
        for rows, count in views:
            if count:
                more, tested = match_view(rows, count, events)
                self.candidates += tested
                found = MatchSet(*add_matches(found.offsets, found.ids, more.offsets, more.ids))
        self.events += len(events)
        self.matches += len(found.ids)
        if self.events - self._at_check[0] >= REKEY_EVENTS:
            self._rekey_if_due(state)
        return found

    def match_single(self, pairs: SinglePairs) -> Int32Array | None:
        """Ids for one event with one value per attribute, with as little Python as there can be; None when some number
        is not finite or too large for its key to be exact, or when a frame for the event would be."""
        state, count = self.state, len(pairs[2])
        views = [delta.view for delta in state.deltas]
        base = state.base
        if too_wide(base, count):
            return None
        frame = self._frame(base, count)
        try:
            frame.pack(pairs)
        except (OverflowError, struct.error):  # an integer beyond all floats
            return None
        made = match_packed(base.handle, base.gone, frame.handle, count, len(pairs[0]))
        if made == REFUSED:
            return None
        while made == FULL:
            frame = frame.more_room()
            made = match_packed(base.handle, base.gone, frame.handle, count, 0)
        memory, sampler = frame.memory, self.sampler
        found = memory.out[:made].copy()
        tested, hits, touched = memory.counters.tolist()
        if sampler.due():
            sampler.keep(frame.sample(count))
        for rows, length in views:
            if length:
                more, further = match_view(rows, length, frame.batch(count))
                tested += further
                found = np.concatenate([found, more.ids])
        self._frames.append(frame)
        self._count(tested, hits, touched)
        self.events += 1
        self.matches += len(found)
        if self.events - self._at_check[0] >= REKEY_EVENTS:
            self._rekey_if_due(state)
        return found

    def stats(self) -> EngineStats:
        """Sizes, counters, and how good the present keys are."""
        state = self.state
        base, deltas = state.base, state.deltas
        arrays = arrays_of(base.built.arrays)
        held = sum(array.nbytes for array in arrays.values()) + base.nbytes
        added = sum(len(delta.where) for delta in deltas)
        details: dict[str, Any] = {
            "keys": base.built.kinds,
            "clusters_hit": self.hits,
            "bytes_touched": self.touched,
            "candidates_per_event": self.candidates / max(1, self.events),
            "expected_candidates": base.built.expected,
            "best_candidates": self._best(base),
            "delta_conjunctions": sum(len(delta) for delta in deltas),
            "merges": self.merges,
            "schemas": len(base.built.arrays.keys.schemas.slots) // WIDEST,
            "blocks": len(base.built.arrays.narrow.block_live) + len(base.built.arrays.wide.block_live),
        }
        owners, conjunctions = base.alive()
        return EngineStats(
            owners + added,
            conjunctions + sum(delta.alive() for delta in deltas),
            held + sum(delta.nbytes for delta in deltas),
            self.events,
            self.candidates,
            self.matches,
            details,
        )

    def merge(self) -> None:
        """Fold the delta into a new index now, under the keys best for the events seen lately."""
        self.wait()
        self._merge_now()

    def wait(self) -> None:
        """Until no merge is running; raises what went wrong in the background, if anything did."""
        running = self._merge
        if running is not None and running is not threading.current_thread():
            running.join()
        if self._problem is not None:
            raise self._problem

    def save(self, path: str | Path) -> None:
        """Write everything to a directory that `open` maps; what stood there is replaced in one step."""
        self.frozen()(Path(path))

    def frozen(self) -> Callable[[Path], None]:
        """A save of what is there now. What changed since the last merge is merged for it, and it alone: whoever matches or
        changes the engine meanwhile waits for nothing."""
        from tamis.encoding.saved import save_dictionary  # needs Arrow, which takes a while to load

        with self._writer:
            base, dead, added = self._changed(self.state.deltas)
            names = self.dictionary.copy()

        def write(path: Path) -> None:
            saved = self._merged(base, dead, added) if len(dead) or added else base
            extra: dict[str, NDArray[np.generic]] = {"present": saved.present, "several": saved.several}
            files: dict[str, Writer] = {"dictionary.arrow": lambda file: save_dictionary(names, file)}
            save_index(path, saved.built, extra, {"conjunctions": saved.conjunctions}, files)

        return write

    @classmethod
    def open(cls, path: str | Path, options: TamisOptions = DEFAULTS, verify: bool = True) -> Self:
        """An engine over a saved index, mapped, not read: its pages are shared with every other process that maps it.

        `verify` reads the files once to compare their checksums; without it only the manifest and the sizes are checked.
        """
        from tamis.encoding.saved import load_dictionary

        built, extra, facts, files = open_index(Path(path), verify)
        dictionary = load_dictionary(files["dictionary.arrow"])
        present, several = extra["present"].view(np.uint8), extra["several"].view(np.int32)
        return cls(dictionary, Base(built, present, int(facts["conjunctions"]), several), options)

    def table(self) -> SubscriptionTable:
        """All live conjunctions."""
        with self._writer:
            state = self.state
            parts = [decode_index(state.base.built.arrays, state.base.dead, self.dictionary)]
            parts += [delta.table(self.dictionary) for delta in state.deltas]
        return SubscriptionTable.concat(parts)

    def _match_alone(self, base: Base, events: EventBatch) -> MatchSet:
        frame = self._frame(base, len(events.attrs))
        made = match_one(base.handle, base.gone, frame.handle, events.attrs, events.keys)
        while made == FULL:
            frame = frame.more_room()
            made = match_one(base.handle, base.gone, frame.handle, events.attrs, events.keys)
        found = MatchSet(frame.memory.offsets.copy(), frame.memory.out[:made].copy())
        self._frames.append(frame)
        self._count(*frame.memory.counters.tolist())
        return found

    def _count(self, candidates: int, hits: int, touched: int) -> None:
        self.candidates += candidates
        self.hits += hits
        self.touched += touched

    def _frame(self, base: Base, pairs: int) -> Frame:
        """Memory for one event; put back into `_frames` after use."""
        try:
            frame = self._frames.pop()
            if frame.index is base.handle and frame.pairs >= pairs:
                return frame
            room = len(frame.memory.out)
        except IndexError:  # all in use by other threads
            room = LEAST_ROOM
        ranks, keys = base.built.arrays.ranks, base.built.arrays.keys
        return Frame(base.handle, len(ranks.attrs), len(keys.schemas.slots) // WIDEST, has_triples(base), pairs, room)

    def _merge_if_due(self) -> None:
        base, delta = self.state.base, self.state.deltas[-1]
        due = len(delta) >= max(self.options.merge_least, int(MERGE_SHARE * base.conjunctions))
        if due:
            self._start_merge()

    def _rekey_if_due(self, state: State) -> None:
        """Choose keys anew when the candidates of late that did not match are too many: beyond what the best keys would
        meet, and beyond what the present keys met at first, for the estimate may be wrong and a merge would not mend it."""
        base, (events, wasted) = state.base, self._at_check
        self._at_check = (self.events, self.candidates - self.matches)
        met = (self._at_check[1] - wasted) / max(1, self._at_check[0] - events)
        if base.usual is None:
            base.usual = met if base.learned else 0.0
        least = (met - REKEY_SPARE) / REKEY_MARGIN
        if least > max(base.usual, base.built.expected) and len(self.sampler):
            base.usual = met  # if no keys do better, not asked again until events meet many more
            self._start_merge(lambda: least > self._best(base))

    def _best(self, base: Base) -> float:
        """Candidates per event under the best keys for the events sampled lately."""
        return base.best(self.sampler.sample(), self.dictionary, self.options.look_up_ns)

    def _start_merge(self, pays: Callable[[], bool] | None = None) -> None:
        """Merge where the options say, if it pays; to find out takes as long as matching thousands of events."""
        if self.options.merge == "background":
            with self._writer:
                if self._merge is None:
                    work = (self._in_background, "tamis-merge", (pays,))
                    self._merge = threading.Thread(None, *work, daemon=True)
                    self._merge.start()
        elif self.options.merge == "inline" and (pays is None or pays()):
            self._merge_now()

    def _merge_now(self) -> None:
        with self._writer:
            if self._removed_in_merge is not None:  # another thread is at it
                return
            self._freeze()
        self._rebuild()

    def _freeze(self) -> None:
        """From now on changes go to a new delta; the caller holds the lock."""
        self._removed_in_merge = []
        self.state = replace(self.state, deltas=(*self.state.deltas, Delta(len(self.dictionary))))

    def _in_background(self, pays: Callable[[], bool] | None) -> None:
        try:
            if pays is None or pays():
                self._merge_now()
        except BaseException as problem:  # kept for whoever waits; the frozen delta stays in use
            self._problem, self._removed_in_merge = problem, None
        self._merge = None

    def _changed(self, deltas: tuple[Delta, ...]) -> Changed:
        """The base and what became of it, for `_merged`; the caller holds the lock."""
        base = self.state.base
        return base, base.gone.copy(), [delta.table(self.dictionary) for delta in deltas if len(delta)]

    def _merged(self, base: Base, dead: NDArray[np.uint8], added: list[SubscriptionTable]) -> Base:
        """A new base without the dead and with what was added."""
        table = SubscriptionTable.concat([decode_index(base.built.arrays, dead, self.dictionary), *added])
        present = base.present & ~dead if len(dead) else base.present
        alive = np.flatnonzero(np.unpackbits(present, bitorder="little")).astype(np.int32)
        owners = np.concatenate([alive, *(part.owners for part in added)])
        return new_base(table, self.sampler.sample(), owners, self.options.look_up_ns)

    def _rebuild(self) -> None:
        state = self.state
        frozen = state.deltas[:-1]
        with self._writer:
            changed = self._changed(frozen)
        base = self._merged(*changed)
        with self._writer:
            for ids in self._removed_in_merge or ():
                base.bury(ids)
            self.state = State(base, self.state.deltas[len(frozen) :])
            self._removed_in_merge = None
            self.merges += 1
