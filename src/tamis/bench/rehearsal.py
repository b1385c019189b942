"""What is not measured, done before, on all cores: kernels compiled, workloads made.

Each engine, with each of its variants, is run once on a small workload of each kind it will meet. What was rehearsed is marked
beside the compiled kernels, so the next session starts measuring at once. Without a rehearsal runs compile what they
need themselves, before their clock starts: one after the other, which takes longer.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from importlib.util import find_spec
from multiprocessing import active_children
from pathlib import Path

from tamis.arrays.jit import cache_of
from tamis.bench.child import asked
from tamis.bench.results import OK, Run
from tamis.engines.registry import ENGINES
from tamis.matcher.warm import is_warm

SMALL = {"subscriptions": 300, "events": 20, "hours": 8}
SCALE = 0.005
LIMIT = 600.0
KERNELS = ("match", "operators", "drift")
"""Kinds of experiment that run kernels in their own process."""
WARM = Run("", "quick", "", "warm", "", "", {}, {}, {}, 0)
"""The default engine's kernels for sizes that no small workload has."""


def make_ready(tell: Callable[[str], None], runs: list[Run], folder: Path) -> None:
    """All that these runs need, before the first of them."""
    rehearse(runs, tell)
    lay_out(runs, folder)


def rehearse(runs: list[Run], tell: Callable[[str], None]) -> None:
    """Compile what these runs need and nobody compiled before."""
    small_runs = (shrunk(run) for run in runs if run.kind in KERNELS and run.engine != "sql")
    todo = {mark(small): small for small in small_runs}
    todo = {place: small for place, small in todo.items() if not place.exists()}
    first = [WARM] if not is_warm() and any(small.engine == "tamis" for small in todo.values()) else []
    # The default engine comes first and last: what `warm` compiles need not be compiled beside it.
    rest = sorted(todo.values(), key=lambda small: small.engine == "tamis")
    if not first and not rest:
        return
    tell(f"compiling kernels, engine variants: {len(rest)}; the next session will not have to")
    for small, status in beside([*first, *rest], ""):
        if status == OK and small is not WARM:
            mark(small).parent.mkdir(parents=True, exist_ok=True)
            mark(small).touch()


def lay_out(runs: list[Run], folder: Path) -> None:
    """Leave the workloads of quick runs in a folder, where the runs will find them."""
    matching = (replace(run, kind="prepare") for run in runs if run.kind == "match" and run.profile == "quick")
    each = {json.dumps([run.workload, run.seed], sort_keys=True): run for run in matching}
    for _ in beside(list(each.values()), str(folder)):
        pass


def beside(runs: list[Run], workloads: str) -> Iterator[tuple[Run, str]]:
    """Runs on all cores, beside each other, and how each went."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            yield from zip(runs, pool.map(lambda run: rehearsed(run, workloads), runs), strict=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():  # the pool's threads wait for these
                child.terminate()
            raise


def rehearsed(run: Run, workloads: str) -> str:
    """How it went; what is wrong with a run is told when it is measured."""
    status: str = asked(asdict(run), "", workloads, LIMIT)["status"]
    return status


def shrunk(run: Run) -> Run:
    """The same thing with a small workload; numbers among an engine's options decide nothing about kernels."""
    size = (
        {"scale": SCALE}
        if run.workload.get("kind") == "reference"
        else {k: v for k, v in SMALL.items() if k in run.workload}
    )
    options = {name: value for name, value in run.options.items() if isinstance(value, (str, bool))}
    settings = run.settings | {"seconds": 0.01} if run.kind == "match" else run.settings
    return replace(run, options=options, workload=run.workload | size, settings=settings, repeat=0)


def mark(run: Run) -> Path:
    """The file that says it was done, beside the kernels; of workloads only the kind counts."""
    module = ENGINES[run.engine].partition(":")[0] if run.kind == "match" else f"tamis.bench.{run.kind}"
    found = find_spec(module)
    assert found is not None
    assert found.origin is not None
    told = [run.kind, run.engine, run.options, run.workload.get("kind", ""), bool(run.settings.get("baseline"))]
    name = hashlib.blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=8).hexdigest()
    return cache_of(Path(found.origin)) / f"rehearsed-{name}"
