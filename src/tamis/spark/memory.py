"""What the processes of a Spark session on this machine hold, sampled while something runs."""

import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

EVERY = 0.5
MIB = 1 << 20
DAEMON = "tamis.spark.daemon"


@dataclass
class Held:
    """MiB: the driver's Python and Java processes at their peaks; of the Python workers, at the moment they held most,
    resident and proportional sums (a page shared by n processes counts 1/n in each), and the part of it that is index."""

    driver: float = 0.0
    java: float = 0.0
    workers: int = 0
    resident: float = 0.0
    proportional: float = 0.0
    index_resident: float = 0.0
    index_proportional: float = 0.0


class Memory:
    """Watches this process and those below it."""

    def __init__(self) -> None:
        self.held = Held()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def figures(self, prefix: str) -> dict[str, float]:
        """What was seen, for a report."""
        return {
            f"{prefix}_{name}_mib" if name != "workers" else f"{prefix}_{name}": round(value, 1)
            for name, value in asdict(self.held).items()
        }

    def _watch(self) -> None:
        while not self._stop.wait(EVERY):
            below = psutil.Process().children(recursive=True)
            self.held.driver = max(self.held.driver, resident(psutil.Process()))
            self.held.java = max(self.held.java, sum(resident(p) for p in below if named(p, "java")))
            maps = [mapped(p.pid) for p in below if is_worker(p)]
            total = [sum(column) for column in zip(*maps, strict=True)] or [0.0] * 4
            if total[0] > self.held.resident:
                self.held.workers = len(maps)
                self.held.resident, self.held.proportional = total[0], total[1]
                self.held.index_resident, self.held.index_proportional = total[2], total[3]


def resident(process: psutil.Process) -> float:
    """MiB a process holds; nothing if it is gone."""
    try:
        return float(process.memory_info().rss) / MIB
    except psutil.Error:
        return 0.0


def named(process: psutil.Process, name: str) -> bool:
    """Whether a process runs a program."""
    try:
        return bool(process.name() == name)
    except psutil.Error:
        return False


def is_worker(process: psutil.Process) -> bool:
    """Whether a process is a Python worker of Spark, not the daemon it was forked from."""
    try:
        parent = process.parent()
        return DAEMON in process.cmdline() and parent is not None and DAEMON in parent.cmdline()
    except psutil.Error:
        return False


def mapped(pid: int) -> tuple[float, float, float, float]:
    """(resident, proportional, index pages resident, index pages proportional) of a process, in MiB."""
    sums = {"Rss": 0.0, "Pss": 0.0}
    index = dict(sums)
    of_index = False
    try:
        for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in sums:
                size = int(rest.split()[0]) / 1024
                sums[name] += size
                index[name] += size if of_index else 0.0
            elif "-" in name.split(" ")[0]:
                of_index = "/shard-" in line
    except OSError:  # the process has ended
        return 0.0, 0.0, 0.0, 0.0
    return sums["Rss"], sums["Pss"], index["Rss"], index["Pss"]
