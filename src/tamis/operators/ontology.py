"""`isA(ontology, attribute, class)`: whether what the event names belongs to a class, by an OWL reasoner.

The ontology is the shipped `vehicles.owl` or a file below the directory `TAMIS_ONTOLOGIES`. It is loaded and classified once,
by HermiT, which comes with owlready2 and needs Java. The event's value is the name of an individual (is it an instance?)
or of a class (is it a subclass?); a value the ontology does not know belongs to nothing.
"""

import os
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import owlready2

from tamis.errors import OperatorError
from tamis.operators.event import EventView
from tamis.operators.registry import make_operator


def ontology_file(name: str) -> Path:
    """Where an ontology lies."""
    root = os.environ.get("TAMIS_ONTOLOGIES")
    if root:
        file = (Path(root) / name).resolve()
        if file.is_relative_to(Path(root).resolve()) and file.is_file():
            return file
    shipped = Path(str(files("tamis.operators.data"))) / name
    if Path(name).name == name and shipped.is_file():
        return shipped
    raise OperatorError(f"there is no ontology {name!r} (shipped: vehicles.owl; others below TAMIS_ONTOLOGIES)")


@lru_cache(maxsize=8)
def classified(name: str) -> Any:
    """The ontology after reasoning, in a world of its own."""
    world = owlready2.World()
    with ontology_file(name).open("rb") as source:
        ontology = world.get_ontology(f"file://{name}").load(fileobj=source)
    owlready2.JAVA_EXE = java()
    with ontology:
        owlready2.sync_reasoner_hermit(world, debug=0)
    return world


def java() -> str:
    """The Java to run the reasoner with."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def is_member(event: EventView, ontology: str, attribute: str, wanted: str) -> bool:
    """Whether some value of the attribute names an instance or subclass of the wanted class."""
    world = classified(ontology)
    target = named(world, wanted)
    if target is None:
        raise OperatorError(f"the ontology {ontology!r} has no class {wanted!r}")
    values = event.values_of(attribute) or (event[attribute],)
    return any(belongs(named(world, str(value)), target) for value in values)


def named(world: Any, name: str) -> Any:
    """The entity of that local name, or None."""
    return world.search_one(iri=f"*#{name}")


def belongs(entity: Any, target: Any) -> bool:
    """Instance of, or subclass of."""
    if entity is None:
        return False
    if isinstance(entity, owlready2.ThingClass):
        return issubclass(entity, target)
    return isinstance(entity, target)


is_a = make_operator("isA", is_member, isolate=True, seconds=30, megabytes=16384, cost=0.002, selectivity=0.2)
