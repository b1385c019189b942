"""A small market for the demo: what ten people wait for, and a seeded stream of cameras, flights and groceries."""

from collections.abc import Iterator
from random import Random
from typing import Any

SUBSCRIPTIONS: dict[str, str] = {
    "alice": "item = 'camera' and price < 300 and brand in ('Sony', 'Nikon', 'Panasonic') and zoom > 4",
    "bruno": "item = 'camera' and megapixels >= 20 and (condition = 'used' or discount >= 25)",
    "chloe": "item = 'camera' and brand = 'Leica' and seller.city in ('Paris', 'Lyon')",
    "dario": "item = 'flight' and to = 'Lisbon' and price <= 120 and stops = 0",
    "elena": "item = 'flight' and from = 'Lyon' and departs between '06:00' and '12:00' and not airline like 'Budget%'",
    "farid": "item = 'flight' and seats <= 3 and price < 80",
    "gita": "item = 'grocery' and tags = 'organic' and tags = 'vegan' and price < 5",
    "hugo": "item = 'grocery' and name contains 'CHOCOLATE' nocase and not tags = 'nuts'",
    "ines": "item = 'grocery' and missing(origin)",
    "jules": "discount >= 40",
}

CAMERAS = {
    "Sony": ("Cyber-shot HX99", "Alpha 6400", "RX100 VII"),
    "Nikon": ("Coolpix B600", "Z50"),
    "Panasonic": ("Lumix TZ95", "Lumix FZ82"),
    "Leica": ("D-Lux 8", "V-Lux 5"),
    "Canon": ("PowerShot SX740", "EOS R50"),
}
AIRLINES = ("Azul Norte", "Budget Wings", "Budget Air", "Tramontane", "Meridian")
CITIES = ("Lyon", "Paris", "Lisbon", "Naples", "Dublin")
GROCERIES: dict[str, tuple[str, ...]] = {
    "oat drink": ("organic", "vegan"),
    "dark chocolate": ("vegan",),
    "Milk Chocolate with hazelnuts": ("nuts",),
    "red lentils": ("organic", "vegan"),
    "goat cheese": ("organic",),
    "white peaches": ("vegan",),
}


def events(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """`count` offers, the same for the same seed."""
    random = Random(seed)
    for _ in range(count):
        offer = random.choice((camera, flight, grocery))(random)
        if random.random() < 0.25:
            offer["discount"] = random.randrange(10, 55, 5)
        yield offer


def camera(random: Random) -> dict[str, Any]:
    """A camera; compact ones have a zoom, the others leave the attribute out."""
    brand = random.choice(tuple(CAMERAS))
    offer: dict[str, Any] = {
        "item": "camera",
        "brand": brand,
        "model": random.choice(CAMERAS[brand]),
        "price": random.randrange(129, 900, 10),
        "megapixels": random.choice((12, 16, 20, 24)),
        "condition": random.choice(("new", "new", "used")),
        "seller": {"city": random.choice(CITIES)},
    }
    if random.random() < 0.7:
        offer["zoom"] = random.choice((3, 5, 8, 24, 40))
    return offer


def flight(random: Random) -> dict[str, Any]:
    """A flight between two cities."""
    start, end = random.sample(CITIES, 2)
    return {
        "item": "flight",
        "airline": random.choice(AIRLINES),
        "from": start,
        "to": end,
        "departs": f"{random.randrange(5, 22):02}:{random.choice((0, 10, 25, 40)):02}",
        "price": random.randrange(39, 260),
        "stops": random.choice((0, 0, 1)),
        "seats": random.randrange(1, 30),
    }


def grocery(random: Random) -> dict[str, Any]:
    """Something to eat, with a list of tags; the origin is not always known."""
    name = random.choice(tuple(GROCERIES))
    offer: dict[str, Any] = {
        "item": "grocery",
        "name": name,
        "price": round(random.uniform(0.8, 9.0), 2),
        "tags": list(GROCERIES[name]),
    }
    if random.random() < 0.75:
        offer["origin"] = random.choice(("France", "Portugal", "Italy"))
    return offer
