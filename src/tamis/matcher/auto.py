"""`Matcher(engine="auto", sample=…)`: from what was given to what the choice looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tamis.encoding.dictionary import Dictionary
from tamis.encoding.events import encode_events
from tamis.encoding.subscriptions import SubscriptionTable, encode_subscriptions
from tamis.errors import EngineError, nearest
from tamis.lang import bind, normalise
from tamis.lang.filters import expression_of
from tamis.matcher.advice import Choice, Sample, choose
from tamis.matcher.features import features
from tamis.model.event import normalise as normalise_event
from tamis.model.limits import Limits
from tamis.model.schema import PublicationType
from tamis.predicates.text import TextIndex

AUTO = "auto"


def given_sample(options: Mapping[str, Any]) -> Sample:
    """The sample among the options of `auto`: a `Sample`, plain events, or nothing."""
    for name in options:
        if name != "sample":
            raise EngineError(f"engine 'auto' has no option {name!r}{nearest(name, ['sample'])} (options: sample)")
    given = options.get("sample")
    if given is None:
        return Sample()
    if isinstance(given, Sample):
        return given
    if isinstance(given, Sequence) and all(isinstance(event, Mapping) for event in given):
        return Sample(events=given)
    raise EngineError(f"engine 'auto': sample takes a Sample or a list of events, not {type(given).__name__}")


def decide(sample: Sample, table: SubscriptionTable, type: PublicationType | None, limits: Limits) -> Choice:
    """The engine for the subscriptions of `table`, or those of the sample while there are none."""
    if not len(table) and sample.subscriptions:
        given = (expression_of(filter, limits) for _, filter in sample.subscriptions)
        bound = (bind(expression, type, limits) if type else expression for expression in given)
        dnfs = (normalise(expression, type, limits) for expression in bound)
        table = encode_subscriptions(enumerate(dnfs), Dictionary(type=type))
    events = None
    if sample.events:
        normal = [normalise_event(event, type, limits) for event in sample.events]
        events = TextIndex(table.dictionary).extend(encode_events(normal, table.dictionary))
    told = features(table, events, sample.batch, sample.updates)
    if sample.expected and told.subscriptions:
        times = max(1.0, sample.expected / told.subscriptions)
        matches = None if told.matches is None else told.matches * times
        told = replace(told, subscriptions=told.subscriptions * times, matches=matches)
    return choose(told)
