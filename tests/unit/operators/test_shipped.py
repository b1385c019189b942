"""The shipped operators, each through a Matcher, on real data."""

import base64
import sqlite3
from pathlib import Path

import cv2
import numpy as np
import pytest
import shapely
import skimage

from tamis import Matcher
from tamis.errors import OperatorError
from tamis.operators import gazetteer
from tamis.operators.lookup import connection
from tamis.operators.spatial import METRES_PER_DEGREE, metres

PICTURES = Path(skimage.__file__).parent / "data"


def ids_for(conditions: dict[str, str], event) -> set[str]:
    matcher = Matcher()
    matcher.subscribe_many(conditions.items())
    found = set(map(str, matcher.match(event)))
    assert all(not matcher.status(name) for name in conditions), {n: matcher.status(n) for n in conditions}
    matcher.close()
    return found


def test_gazetteer_shapes_are_valid_and_places_lie_in_their_boroughs():
    homes = {
        "YankeeStadium": "Bronx", "BronxZoo": "Bronx", "TimesSquare": "Manhattan", "GrandCentral": "Manhattan",
        "EmpireStateBuilding": "Manhattan", "ConeyIsland": "Brooklyn", "JFKAirport": "Queens",
        "LaGuardiaAirport": "Queens", "FlushingMeadows": "Queens",
    }  # fmt: skip
    boroughs = ["Bronx", "Manhattan", "Brooklyn", "Queens", "StatenIsland"]
    for borough in boroughs:
        assert shapely.is_valid(gazetteer.shape(borough))
    for place, home in homes.items():
        inside = [b for b in boroughs if shapely.intersects(gazetteer.shape(b), gazetteer.shape(place))]
        assert inside == [home]


def test_locations():
    times_square, empire_state = {"lat": 40.7580, "lon": -73.9855}, {"lat": 40.7484, "lon": -73.9857}
    conditions = {
        "bronx": "locIn(Bronx)",
        "manhattan": "locIn(Manhattan)",
        "near": "locWithin(TimesSquare, 1000)",
        "nearer": "locWithin(TimesSquare, 900)",
        "far": "distanceFrom(StatueOfLiberty, ?d) and ?d > 8000",
        "not bronx": "not locIn(Bronx)",
    }
    assert ids_for(conditions, times_square) == {"manhattan", "near", "nearer", "far", "not bronx"}
    assert ids_for(conditions, empire_state) == {"manhattan", "not bronx", "far"}
    assert ids_for(conditions, {"lat": 40.8296, "lon": -73.9262}) == {"bronx", "far"}
    assert ids_for(conditions, {"speed": 1}) == set()
    assert ids_for(conditions, {"lat": "north", "lon": 3}) == set()


def test_distances_are_those_of_the_sphere():
    rng = np.random.default_rng(1)
    for lon, lat in rng.uniform((-74.2, 40.5), (-73.7, 40.9), (50, 2)):
        a, b = np.radians([lat, 40.6892]), np.radians([lon, -74.0445])
        angle = np.arccos(np.sin(a[0]) * np.sin(a[1]) + np.cos(a[0]) * np.cos(a[1]) * np.cos(b[0] - b[1]))
        sphere = np.degrees(angle) * METRES_PER_DEGREE
        assert metres(gazetteer.shape("StatueOfLiberty"), lon, lat) == pytest.approx(sphere, rel=5e-3)


def test_unknown_places_are_refused_with_the_nearest():
    with pytest.raises(OperatorError, match="no place 'Bronks'; did you mean 'Bronx'"):
        Matcher().subscribe("s", "locIn(Bronks)")


def test_another_gazetteer(tmp_path, monkeypatch):
    file = tmp_path / "places.sqlite"
    with sqlite3.connect(file) as made:
        made.execute("create table places (name text, wkt text)")
        made.execute(
            "insert into places values ('Lyon', 'POLYGON ((4.77 45.70, 4.90 45.70, 4.90 45.81, 4.77 45.81, 4.77 45.70))')"
        )
    made.close()
    monkeypatch.setenv("TAMIS_GAZETTEER", str(file))
    gazetteer.table.cache_clear()
    gazetteer.shape.cache_clear()
    try:
        assert ids_for({"s": "locIn(Lyon)"}, {"lat": 45.76, "lon": 4.84}) == {"s"}
        with pytest.raises(OperatorError, match="no place 'Bronx'"):
            Matcher().subscribe("s", "locIn(Bronx)")
    finally:
        gazetteer.table().close()
        gazetteer.table.cache_clear()
        gazetteer.shape.cache_clear()


def test_mentions():
    conditions = {"fire": "mentions(fire, smoke)", "phrase": "mentions('grand  central')", "part": "mentions(fir)"}
    event = {"title": "FIRE at Grand Central", "tags": ["rail"], "n": 3}
    assert ids_for(conditions, event) == {"fire", "phrase"}
    assert ids_for(conditions, {"title": "misfire"}) == set()
    assert ids_for({"s": "mentions(fumée)"}, {"body": "De la FUMÉE."}) == {"s"}
    with pytest.raises(OperatorError, match="words or phrases"):
        Matcher().subscribe("s", "mentions(3)")


def framed_cameraman():
    """The photographer of scikit-image's `camera` with margin around him, which the detector needs."""
    picture = cv2.imread(str(PICTURES / "camera.png"))
    assert picture is not None
    return cv2.resize(cv2.copyMakeBorder(picture, 200, 200, 200, 200, cv2.BORDER_REPLICATE), (256, 256))


def test_faces_and_people_in_real_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("TAMIS_IMAGES", str(tmp_path))
    (tmp_path / "astronaut.png").write_bytes((PICTURES / "astronaut.png").read_bytes())
    cv2.imwrite(str(tmp_path / "cameraman.png"), framed_cameraman())
    conditions = {"one face": "faceCount(1)", "people": "pedestrianCount(?n) and ?n >= 1", "none": "faceCount(0)"}
    assert ids_for({"one face": conditions["one face"]}, {"image": "astronaut.png"}) == {"one face"}
    assert ids_for(conditions, {"image": "cameraman.png"}) == {"people", "none"}
    encoded = base64.b64encode((tmp_path / "cameraman.png").read_bytes()).decode()
    assert ids_for(conditions, {"image": f"data:image/png;base64,{encoded}"}) == {"people", "none"}


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("../secret.png", "no image"),
        ("/etc/passwd", "no image"),
        ("data:image/png;base64,AAAA", "cannot be decoded"),
        ("data:image/png;base64,?", "base64"),
    ],
)
def test_pictures_that_are_none(image, told, tmp_path, monkeypatch):
    monkeypatch.setenv("TAMIS_IMAGES", str(tmp_path))
    matcher = Matcher()
    matcher.subscribe("s", "faceCount(?n)")
    assert matcher.match({"image": image}) == []
    assert told in matcher.status("s")["faceCount(?n)"].last
    matcher.close()


def test_logic(tmp_path, monkeypatch):
    (tmp_path / "policy.lp").write_text('suspect(K) :- value("kind", K), not value("kind", "police").\n')
    monkeypatch.setenv("TAMIS_PROGRAMS", str(tmp_path))
    conditions = {
        "speeding": "entails('speeding :- value(\"speed\", S), S > 80.', speeding)",
        "slow": "not entails('speeding :- value(\"speed\", S), S > 80.', speeding)",
        "suspect": "entails('@policy.lp', suspect, ?who) and ?who = 'van'",
        "choice": "entails('1 {a; b} 1.', a)",
    }
    assert ids_for(conditions, {"speed": 90, "kind": ["van", "car"]}) == {"speeding", "suspect"}
    assert ids_for(conditions, {"speed": 30, "kind": ["van", "police"]}) == {"slow"}
    matcher = Matcher()
    matcher.subscribe("s", "entails('a :- .:', a)")
    matcher.subscribe("t", "entails('@../x.lp', a)")
    assert matcher.match({"n": 1}) == []
    assert "not well-formed" in next(iter(matcher.status("s").values())).last
    assert "no program" in next(iter(matcher.status("t").values())).last
    matcher.close()


def test_ontology_by_a_reasoner():
    conditions = {
        "emergency": "isA('vehicles.owl', kind, EmergencyVehicle)",
        "car": "isA('vehicles.owl', kind, Car)",
        "boat": "isA('vehicles.owl', kind, Boat)",
    }
    matcher = Matcher()
    matcher.subscribe_many(conditions.items())
    events = [{"kind": kind} for kind in ("PoliceCar", "unit12", "medallion7", "TourBoat", "Zeppelin")]
    found = [set(map(str, ids)) for ids in matcher.match_many(events)]
    assert all(not matcher.status(name) for name in conditions), matcher.status("emergency")
    assert found == [{"emergency", "car"}, {"emergency", "car"}, {"car"}, {"boat"}, set()]
    matcher.close()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_lookup(kind, tmp_path, monkeypatch):
    file = tmp_path / f"register.{kind}"
    if kind == "sqlite":
        made = sqlite3.connect(file)
    else:
        made = pytest.importorskip("duckdb").connect(str(file))
    made.execute("create table vehicles (plate varchar, owner varchar, seats integer)")
    made.execute("insert into vehicles values ('A1', 'City', 4), ('B2', 'Ann', 2), ('C3', null, 9)")
    made.commit()
    made.close()
    monkeypatch.setenv("TAMIS_DATABASE", str(file))
    conditions = {
        "city": "lookup(vehicles, plate, owner, 'City')",
        "big": "lookup(vehicles, plate, seats, ?n) and ?n > 3",
    }
    try:
        assert ids_for(conditions, {"plate": "A1"}) == {"city", "big"}
        assert ids_for(conditions, {"plate": ["B2", "A1"]}) == {"city", "big"}
        assert ids_for(conditions, {"plate": "C3"}) == {"big"}
        assert ids_for(conditions, {"plate": "'; drop table vehicles; --"}) == set()
        with pytest.raises(OperatorError, match="no column 'ownr'; did you mean 'owner'"):
            Matcher().subscribe("s", "lookup(vehicles, plate, ownr, ?x)")
        with pytest.raises(OperatorError, match="no table"):
            Matcher().subscribe("s", "lookup(cars, plate, owner, ?x)")
    finally:
        connection(str(file)).close()
        connection.cache_clear()
