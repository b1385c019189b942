"""An operator declared by a module that workers import."""

from tamis.operators import operator
from tamis.operators.event import EventView


@operator("tests_loudness", outputs=1)
def loudness(event: EventView) -> int:
    return str(event["text"]).count("!")
