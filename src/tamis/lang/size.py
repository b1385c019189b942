"""How large a condition is, and the limits on it. Nothing here recurses, so any depth can be measured."""

from tamis.errors import FilterError, LimitError
from tamis.model.limits import Limits
from tamis.model.predicate import Arithmetic, Constraint, Term
from tamis.model.subscription import And, Expression, Not, Or


def check_text(text: object, limits: Limits) -> str:
    """`text` if it is a string within the limit on bytes."""
    if not isinstance(text, str):
        raise FilterError(f"a filter is text, not {text.__class__.__name__}")
    if len(text) * 4 > limits.filter_bytes:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > limits.filter_bytes:
            raise LimitError("filter_bytes", limits.filter_bytes, size)
    return text


def check_size(expression: Expression, limits: Limits) -> None:
    """Refuse a condition with too many predicates or too deep; after this, recursion over it is safe."""
    predicates, depth = measure(expression)
    if depth > limits.depth:
        raise LimitError("depth", limits.depth, depth)
    if predicates > limits.predicates:
        raise LimitError("predicates", limits.predicates, predicates)


def measure(expression: Expression) -> tuple[int, int]:
    """Number of leaves and depth (a predicate alone: 1 and 1). Shared subtrees are visited once."""
    known: dict[int, tuple[int, int]] = {}
    stack: list[Expression | Term] = [expression]
    while stack:
        node = stack[-1]
        inner = parts(node)
        waiting = [part for part in inner if id(part) not in known]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        measured = [known[id(part)] for part in inner]
        leaves = sum(count for count, _ in measured) if isinstance(node, And | Or | Not) else 1
        known[id(node)] = leaves, 1 + max((depth for _, depth in measured), default=0)
    return known[id(expression)]


def parts(node: Expression | Term) -> tuple[Expression | Term, ...]:
    """What a node nests."""
    if isinstance(node, And | Or):
        return node.children
    if isinstance(node, Not):
        return (node.child,)
    if isinstance(node, Constraint | Arithmetic):
        return tuple(side for side in (node.left, node.right) if isinstance(side, Arithmetic))
    return ()
