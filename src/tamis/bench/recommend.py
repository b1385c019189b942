"""Which engine suits which workload: every engine measured on random workloads, as a table, and an examination of it.

    python -m tamis.bench.recommend learn --seeds 1000:1080 --rows learned.jsonl     measure, and write the table
    python -m tamis.bench.recommend examine --seeds 5000:5045 --rows held-out.jsonl  measure others, and judge the choices

The rows are kept as they are measured, one line of JSON each; seeds that stand in the file already are not measured again,
but for the engines named by `--again`.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tamis.bench.prepare import encode_reference
from tamis.bench.results import machine
from tamis.encoding.events import EventBatch
from tamis.encoding.keys import KEY_MAX, KEY_MIN
from tamis.encoding.matches import MatchSet
from tamis.encoding.subscriptions import MISSING, SubscriptionTable
from tamis.engines.base import Updatable, make_options
from tamis.engines.rebuild import updatable
from tamis.engines.registry import DEFAULT, ENGINES, engine_class
from tamis.errors import EngineError
from tamis.matcher.advice import TABLE, Measured, choose
from tamis.matcher.features import Features, features
from tamis.workloads.assorted import Assorted, assorted
from tamis.workloads.reference import draw

CANDIDATES = [name for name in ENGINES if name != "sql"]
CHECKED, ROUNDS = 5, 3
ROUND_SECONDS = 0.2
GOOD = 1.5
HOPELESS = 10  # an engine so many times slower than the best is not measured to the end


def workload(given: Assorted) -> tuple[SubscriptionTable, EventBatch]:
    """Table and events."""
    table, events = encode_reference(draw(given.shape))
    if given.presence:
        absent = np.random.default_rng(given.seed).random(len(table.attrs)) < 0.4
        table.ops[absent] = MISSING
        table.lo[:], table.hi[:] = np.where(absent, 0, KEY_MIN), np.where(absent, 0, KEY_MAX)
    return table, events


def row(seed: int, engines: Sequence[str] | None = None, known: Mapping[str, float] | None = None) -> dict[str, Any]:
    """One workload: its features, and microseconds per event of every engine that is not hopeless. With `engines` only these
    are measured; what others cost is `known`."""
    given = assorted(seed)
    table, events = workload(given)
    told = features(table, events, given.batch, given.updates)
    expected = built("scan", table).match(events.slice(0, CHECKED))
    wanted = CANDIDATES if engines is None else engines
    costs = {name: value for name, value in (known or {}).items() if name not in wanted}
    for name in wanted:
        costs[name] = cost(name, table, events, given, expected, min(costs.values(), default=np.inf))
    kept = {name: round(value, 3) for name, value in costs.items() if np.isfinite(value)}
    return {"seed": seed, "features": asdict(told), "cost": kept}


def built(name: str, table: SubscriptionTable) -> Updatable:
    """An engine with its defaults."""
    kind = engine_class(name)
    return updatable(kind, table, make_options(kind.options_type, name, {}))


def cost(
    name: str, table: SubscriptionTable, events: EventBatch, given: Assorted, expected: MatchSet, best: float
) -> float:
    """Microseconds of processor time per event, changes included: the best of some rounds, or infinity when hopeless."""
    engine = built(name, table)
    few = events.slice(0, CHECKED)
    if not engine.match(few).equals(expected):
        raise EngineError(f"engine {name!r} disagrees with scan; nothing it measures would mean anything")
    start = time.process_time()
    engine.match(few)
    alone = (time.process_time() - start) * 1e6 / CHECKED
    if alone > 5 * HOPELESS * best:  # far off even where few events share the cost of a call
        return float("inf")
    use = Use(engine, table, events, given)
    if use.calls(1) > 2 * HOPELESS * best or (taken := use.calls(1)) > HOPELESS * best:
        return float("inf")
    calls = int(np.clip(ROUND_SECONDS / max(1e-9, taken * 1e-6 * given.batch), 1, max(1, 2000 // given.batch)))
    return min(use.calls(calls) for _ in range(ROUNDS))


class Use:
    """An engine in use: calls of so many events each, subscriptions replaced in between."""

    def __init__(self, engine: Updatable, table: SubscriptionTable, events: EventBatch, given: Assorted) -> None:
        self.engine, self.table, self.updates = engine, table, given.updates
        self.batches = [events.slice(i, i + given.batch) for i in range(0, len(events), given.batch)]
        self.due, self.next = 0.0, 0

    def calls(self, count: int) -> float:
        """Microseconds per event over `count` calls."""
        events = 0
        start = time.process_time()
        for _ in range(count):
            batch = self.batches[self.next % len(self.batches)]
            self.next += 1
            self.due += self.updates * len(batch)
            changed = int(self.due)
            if changed:
                self.due -= changed
                self.replace(changed)
            self.engine.match(batch)
            events += len(batch)
        return (time.process_time() - start) * 1e6 / events

    def replace(self, count: int) -> None:
        """Take some subscriptions out and put them in again."""
        ids = (np.arange(count) * 7919 + self.next) % len(self.table)
        ids = np.unique(ids)
        self.engine.remove(ids.astype(np.int32))
        self.engine.insert(self.table.take(ids))


def measure(seeds: Iterable[int], file: Path, again: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The rows of some workloads, from the file where it has them; engines named by `again` are measured anyhow."""
    known = {r["seed"]: r for r in map(json.loads, file.read_text().splitlines())} if file.exists() else {}
    rows = []
    for seed in seeds:
        if seed not in known or again:
            known[seed] = row(seed, again, known[seed]["cost"]) if seed in known else row(seed)
            with file.open("a") as out:
                out.write(json.dumps(known[seed]) + "\n")
        rows.append(known[seed])
        best = min(known[seed]["cost"], key=known[seed]["cost"].get)
        typer.echo(
            f"{seed}: {best} {known[seed]['cost'][best]:.1f} µs per event, {DEFAULT} {known[seed]['cost'].get(DEFAULT)}"
        )
    return rows


def write_table(rows: list[dict[str, Any]], file: Path) -> None:
    """The recommendation table: one workload after the other, by seed."""
    told = machine()
    lines = [
        "# Random workloads and what each engine cost on them, in microseconds of processor time per event, changes included.",
        '# Made by `python -m tamis.bench.recommend learn`; read by Matcher(engine="auto") and by the report.',
        "",
        f"processor = {json.dumps(told['processor'])}",
        f"python = {json.dumps(told['python'])}",
    ]
    for one in sorted(rows, key=lambda r: int(r["seed"])):
        lines += ["", "[[workload]]", f"seed = {one['seed']}"]
        lines += [f"{name} = {value:.6g}" for name, value in one["features"].items()]
        lines.append("cost = { " + ", ".join(f"{name} = {value:.4g}" for name, value in one["cost"].items()) + " }")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def judged(rows: list[dict[str, Any]], known: Sequence[Measured] | None = None) -> list[dict[str, Any]]:
    """Each row with the engine chosen for it, and how many times the cost of the best engine that one took."""
    outcome = []
    for one in rows:
        choice = choose(Features(**one["features"]), known)
        best = min(one["cost"], key=one["cost"].__getitem__)
        ratio = one["cost"].get(choice.engine, float("inf")) / one["cost"][best]
        outcome.append(
            {**one, "chosen": choice.engine, "best": best, "ratio": round(ratio, 3), "reason": choice.reason}
        )
    return outcome


app = typer.Typer(help="Measure which engine suits which workload.", no_args_is_help=True)
Seeds = Annotated[str, typer.Option(help="FIRST:LAST, the last not included.")]
Rows = Annotated[Path, typer.Option(help="Where the measured rows are kept, and read from.")]
Again = Annotated[list[str] | None, typer.Option(help="An engine to be measured again in rows that are there.")]


@app.command()
def learn(
    seeds: Seeds = "1000:1080", rows: Rows = Path("learned.jsonl"), table: Path = TABLE, again: Again = None
) -> None:
    """Measure workloads and write the recommendation table."""
    write_table(measure(span(seeds), rows, again or ()), table)


@app.command()
def examine(
    seeds: Seeds = "5000:5045", rows: Rows = Path("held-out.jsonl"), out: Path | None = None, again: Again = None
) -> None:
    """Measure workloads the table does not know, and count how often the choice was good."""
    outcome = judged(measure(span(seeds), rows, again or ()))
    for one in outcome:
        typer.echo(f"{one['seed']}: chose {one['chosen']}, best {one['best']}, {one['ratio']:.2f} times its cost")
    good = sum(one["ratio"] <= GOOD for one in outcome)
    typer.echo(f"within {GOOD} times the best on {good} of {len(outcome)} workloads ({good / len(outcome):.0%})")
    if out is not None:
        out.write_text(json.dumps({"machine": machine(), "good": good, "rows": outcome}, indent=1), encoding="utf-8")


def span(seeds: str) -> range:
    """FIRST:LAST."""
    first, _, last = seeds.partition(":")
    return range(int(first), int(last))


if __name__ == "__main__":
    app()
