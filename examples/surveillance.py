"""City surveillance: the five subscriptions S1 to S5 of the expensive-operators paper, run for real.

    python examples/surveillance.py [picture.png]

Drones publish events: a photograph, where it was taken, vehicles that are tracked there, ships that report themselves (AIS).
Places come from the shipped gazetteer. People and faces are detected in photographs that ship with scikit-image; standing
people are what OpenCV's detector knows, so a crowd is a sheet of several prints of one photograph. No package ships weights
that tell police cars or tour boats, so those come from the tracks and ship reports of the event, as they would in a city.
The paper's thresholds for crowds (50 and 250 people) are scaled down to sheets of nine.
"""

import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import skimage

import tamis
from tamis.operators.event import EventView
from tamis.operators.vision import faces, people, read_image

SUBSCRIPTIONS = {
    "S1": "locIn(Bronx) and chasePattern(policeCar, anyCar)",
    "S2": "locIn(Bronx) and mobPattern(?people) and ?people > 5",
    "S3": "locWithin(TimesSquare, 5000) and trafficPattern(congestion) and pedestrianCount(?ped) and ?ped > 5",
    "S4": "locIn(Bronx) and trafficPattern(congestion) and trafficPattern(accident)"
    " and policeCarCount(?pol) and ?pol < 2",
    "S5": "distanceFrom(StatueOfLiberty, ?x) and ?x < 1000"
    " and tourBoatCount(?y) and coastGuardBoatCount(?z) and ?y > 2 * ?z",
}
CAR, POLICE, QUICK, JAM = "car", "policeCar", 25.0, 3.0  # speeds in metres per second
PASSENGER_SHIPS, LAW_ENFORCEMENT_SHIP = range(60, 70), 55  # ship types of AIS


def tracks(event: EventView) -> list[tuple[str, float, float]]:
    """(kind, speed, position along the road) of every vehicle that is tracked."""
    columns = (event.values_of(f"vehicles.{name}") for name in ("kind", "speed", "at"))
    return [(str(kind), float(speed), float(at)) for kind, speed, at in zip(*columns, strict=True)]


@tamis.operator("chasePattern", cost=1e-4, selectivity=0.05)
def chase_pattern(event: EventView, hunter: str, prey: str) -> bool:
    """A quick vehicle of one kind close behind a quick one of the other."""
    quick = [track for track in tracks(event) if track[1] > QUICK]
    return any(
        kind == hunter and 0 < ahead - at < 100
        for kind, _, at in quick
        for other, _, ahead in quick
        if prey in ("anyCar", other)
    )


@tamis.operator("trafficPattern", cost=1e-4, selectivity=0.2)
def traffic_pattern(event: EventView, pattern: str) -> bool:
    """`congestion`: five or more vehicles, mostly crawling. `accident`: two standing within ten metres."""
    found = tracks(event)
    if pattern == "congestion":
        return len(found) >= 5 and float(np.median([speed for _, speed, _ in found])) < JAM
    standing = sorted(at for _, speed, at in found if speed == 0)
    return any(later - earlier < 10 for earlier, later in pairwise(standing))


@tamis.operator("policeCarCount", outputs=1, cost=1e-4)
def police_car_count(event: EventView) -> int:
    """Police cars among the tracks."""
    return sum(kind == POLICE for kind, _, _ in tracks(event))


@tamis.operator("tourBoatCount", outputs=1, cost=1e-4)
def tour_boat_count(event: EventView) -> int:
    """Passenger ships that report themselves."""
    return sum(code in PASSENGER_SHIPS for code in event.values_of("ships"))


@tamis.operator("coastGuardBoatCount", outputs=1, cost=1e-4)
def coast_guard_boat_count(event: EventView) -> int:
    """Law-enforcement ships that report themselves."""
    return sum(code == LAW_ENFORCEMENT_SHIP for code in event.values_of("ships"))


@tamis.operator("mobPattern", outputs=1, isolate=True, seconds=60, megabytes=2048, cost=0.5, selectivity=0.3)
def mob_pattern(event: EventView) -> int:
    """The size of the largest group of people who stand within one and a half of their heights of one another."""
    boxes = people(read_image(str(event["image"])))
    waiting, largest = set(range(len(boxes))), 0
    while waiting:
        group = [waiting.pop()]
        for one in group:
            near = {other for other in waiting if apart(boxes[one], boxes[other]) < 1.5 * boxes[one][3]}
            waiting -= near
            group += near
        largest = max(largest, len(group))
    return largest


def apart(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Distance between the middles of two boxes."""
    (x, y, w, h), (u, v, s, t) = one, other
    return float(np.hypot(x + w / 2 - u - s / 2, y + h / 2 - v - t / 2))


def write_pictures(folder: Path) -> None:
    """The drones' photographs, from scikit-image's own."""
    shipped = Path(skimage.__file__).parent / "data"
    photograph = cv2.imread(str(shipped / "camera.png"))
    assert photograph is not None
    margin = cv2.copyMakeBorder(photograph, 200, 200, 200, 200, cv2.BORDER_REPLICATE)  # the detector wants some around
    one = cv2.resize(margin, (256, 256))
    cv2.imwrite(str(folder / "one.png"), one)
    cv2.imwrite(str(folder / "crowd.png"), np.tile(cv2.resize(one, (192, 192)), (3, 3, 1)))
    for name in ("astronaut.png", "coffee.png"):
        (folder / name).write_bytes((shipped / name).read_bytes())


def car(speed: float, at: float, kind: str = CAR) -> dict[str, Any]:
    """A tracked vehicle."""
    return {"kind": kind, "speed": speed, "at": at}


JAMMED = [car(1.0, 10.0 * k) for k in range(6)]
EVENTS: dict[str, dict[str, Any]] = {
    "Yankee Stadium": {
        "image": "crowd.png", "lat": 40.8296, "lon": -73.9262,
        "vehicles": [car(31, 150), car(33, 90, POLICE), car(12, 400)],
    },
    "near Times Square": {"image": "crowd.png", "lat": 40.7527, "lon": -73.9772, "vehicles": JAMMED},
    "Bronx Zoo": {
        "image": "one.png", "lat": 40.8506, "lon": -73.8769,
        "vehicles": [*JAMMED, car(0, 70), car(0, 75), car(2, 5, POLICE)],
    },
    "Upper Bay": {"image": "astronaut.png", "lat": 40.6850, "lon": -74.0400, "ships": [60, 60, 69, 55, 70]},
    "JFK Airport": {"image": "coffee.png", "lat": 40.6413, "lon": -73.7781, "vehicles": JAMMED},
}  # fmt: skip
EXPECTED = [["S1", "S2"], ["S3"], ["S4"], ["S5"], []]


def run() -> tuple[list[list[str]], dict[str, Any]]:
    """Which subscriptions each event fires, and what the operators did."""
    matcher = tamis.Matcher()
    matcher.subscribe_many(SUBSCRIPTIONS.items())
    try:
        fired = [sorted(map(str, ids)) for ids in matcher.match_many(list(EVENTS.values()))]
        for name in SUBSCRIPTIONS:
            for predicate, failure in matcher.status(name).items():
                sys.stderr.write(f"{name}: {predicate} failed {failure.count} times: {failure.last}\n")
        return fired, matcher.stats().details["operators"]
    finally:
        matcher.close()


def draw(fired: list[list[str]], target: Path) -> None:
    """One panel per event: the photograph, what was detected in it, where it was, what fired."""
    panels = []
    for (where, event), ids in zip(EVENTS.items(), fired, strict=True):
        image = read_image(event["image"])
        standing, looking = people(image), faces(image)
        for boxes, colour in ((standing, (80, 220, 80)), (looking, (60, 170, 255))):
            for x, y, width, height in boxes:
                cv2.rectangle(image, (x, y), (x + width, y + height), colour, max(2, image.shape[0] // 160))
        panel = np.full((470, 400, 3), 30, np.uint8)
        panel[:400] = cv2.resize(image, (400, 400))
        counts = f"people {len(standing)}  faces {len(looking)}"
        lines = (f"{where}  {event['lat']:.4f}, {event['lon']:.4f}", f"{counts}   fired: {', '.join(ids) or 'none'}")
        for i, text in enumerate(lines):
            cv2.putText(panel, text, (8, 425 + 28 * i), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255), 1, cv2.LINE_AA)
        panels.append(panel)
    cv2.imwrite(str(target), np.hstack(panels))


def main() -> None:
    """Match, tell, draw."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "surveillance.png")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TAMIS_IMAGES"] = folder
        write_pictures(Path(folder))
        fired, operators = run()
        for where, ids in zip(EVENTS, fired, strict=True):
            sys.stdout.write(f"{where:20} {', '.join(ids) or 'none'}\n")
        sys.stdout.write(f"{operators['evaluations']} evaluations of {operators['predicates']} distinct predicates\n")
        draw(fired, target)
    sys.stdout.write(f"picture: {target}\n")


if __name__ == "__main__":
    main()
