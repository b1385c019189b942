"""`locIn(area)`, `locWithin(place, metres)`, `distanceFrom(place, ?metres)`: where the event happened.

An event says where with `lat` and `lon`, in degrees. Distances are to the nearest point of the shape, on a plane touching
the Earth at the event: good to a few parts in a thousand over a city. All three look at a whole batch of events at once.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from tamis.operators.event import Absent, EventView
from tamis.operators.gazetteer import shape
from tamis.operators.registry import make_operator

METRES_PER_DEGREE = 111_195.0  # of latitude, on a sphere of radius 6371 km


def known_place(place: Any, *rest: Any) -> None:
    """Refuse a place the gazetteer lacks."""
    shape(str(place))


def points(events: Sequence[EventView]) -> NDArray[np.float64]:
    """Longitude and latitude of every event, float64[events, 2]."""
    found = np.array([(event.number("lon"), event.number("lat")) for event in events])
    if (np.abs(found) > (180.0, 90.0)).any():
        raise Absent("lat and lon are degrees")
    return found


def contains(events: Sequence[EventView], area: str) -> list[bool]:
    """Whether each event lies in the area."""
    at = points(events)
    inside: list[bool] = shapely.intersects_xy(shape(area), at[:, 0], at[:, 1]).tolist()
    return inside


def distances(events: Sequence[EventView], place: str) -> list[float]:
    """Metres from each event to the place; 0 inside it."""
    return [metres(shape(place), lon, lat) for lon, lat in points(events).tolist()]


def near(events: Sequence[EventView], place: str, limit: float) -> list[bool]:
    """Whether each event lies within so many metres of the place."""
    return [distance <= limit for distance in distances(events, place)]


def metres(geometry: Any, lon: float, lat: float) -> float:
    """Distance from a point to a shape."""
    scale = np.array([METRES_PER_DEGREE * math.cos(math.radians(lat)), METRES_PER_DEGREE])
    flat = shapely.transform(geometry, lambda xy: (xy - (lon, lat)) * scale)
    return float(shapely.distance(flat, shapely.Point(0, 0)))


loc_in = make_operator("locIn", contains, batch=True, cost=1e-5, selectivity=0.2, check=known_place)
loc_within = make_operator("locWithin", near, batch=True, cost=5e-5, selectivity=0.1, check=known_place)
distance_from = make_operator(
    "distanceFrom", distances, batch=True, outputs=1, cost=5e-5, selectivity=1.0, check=known_place
)
