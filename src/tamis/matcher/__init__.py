"""The public `Matcher`: conditions as text in, ids of satisfied subscriptions out, with explanations and storage."""

from tamis.matcher.explanation import Explanation
from tamis.matcher.matcher import Matcher

__all__ = ["Explanation", "Matcher"]
