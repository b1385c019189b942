"""Explaining conditions with operators: every operator is run once, and one substitution is shown as the witness.

Where the condition matches, the witness is a joint substitution that proves it. Where it does not, it is one that the
operators allow but something else in the condition refuses. The verdict itself is always that of matching.
"""

from dataclasses import replace

from tamis.engines.operators import OperatorStage, Task, joint_substitution, make_task
from tamis.matcher.explanation import Explanation, explain
from tamis.model.evaluate import Truth, holds
from tamis.model.event import Event
from tamis.model.predicate import Atom, Constraint, OperatorPredicate, Predicate
from tamis.model.subscription import Dnf, Expression, SubscriptionId, atoms
from tamis.model.values import Scalar
from tamis.operators.answer import Answer
from tamis.operators.bindings import TooManyBindings, key
from tamis.operators.constraints import constraint_holds
from tamis.operators.identity import canonical

SHOWN_ROWS = 5


class Witness:
    """One event's answers for all operators of a condition, and the substitution they are shown under."""

    def __init__(self, dnf: Dnf, event: Event, stage: OperatorStage) -> None:
        self.runtime = stage.runtime
        tasks = [(make_task(-1, term, self.runtime), term) for term in dnf]
        wanted = sorted({use.predicate for task, _ in tasks for use in task.uses})
        answers = self.runtime.round([(event, p) for p in wanted])
        self.answers = dict(zip(wanted, answers, strict=True))
        self.matched = False
        self.substitution: dict[str, Scalar] = {}
        for task, term in tasks:
            cheap = all(holds(x.atom, event) is (not x.negated) for x in term if isinstance(x.atom, Predicate))
            found = self._solve(task, stage.bindings)
            if cheap and found is not None:
                self.matched, self.substitution = True, found
                break
            true_uses = tuple(use for use in task.uses if not use.negated and self.answers[use.predicate].truth)
            allowed = self._solve(replace(task, uses=true_uses, constraints=()), stage.bindings)
            self.substitution = self.substitution or found or allowed or {}

    def _solve(self, task: Task, limit: int) -> dict[str, Scalar] | None:
        if any(self.answers[use.predicate].truth is None for use in task.uses):
            return None
        try:
            return joint_substitution(task, self.answers, limit)
        except TooManyBindings:
            return None

    def truth(self, atom: Atom, event: Event) -> Truth:
        """Truth of an atom under the witness."""
        if isinstance(atom, Predicate):
            return holds(atom, event)
        if isinstance(atom, Constraint):
            return constraint_holds(atom, self.substitution) if atom.variables <= set(self.substitution) else None
        answer, names = self._answer(atom)
        if answer.truth and names and set(names) <= set(self.substitution):
            row = key(self.substitution[name] for name in names)
            return row in {key(other) for other in answer.rows}
        return answer.truth

    def note(self, atom: OperatorPredicate | Constraint) -> str:
        """What is worth saying of an atom."""
        if isinstance(atom, Constraint):
            return ", ".join(f"?{n} = {self.substitution.get(n, 'nothing')}" for n in sorted(atom.variables))
        answer, names = self._answer(atom)
        if answer.problem:
            return answer.problem
        if answer.truth is None:
            return "the event lacks what it needs"
        if not names:
            return ""
        rows = [", ".join(f"?{n} = {v}" for n, v in zip(names, row, strict=True)) for row in answer.rows[:SHOWN_ROWS]]
        return "; ".join(rows) + ("; …" if len(answer.rows) > SHOWN_ROWS else "")

    def _answer(self, atom: OperatorPredicate) -> tuple[Answer, tuple[str, ...]]:
        same = canonical(atom)
        known = self.runtime.ids.get(same.predicate, -1)
        return self.answers.get(known, Answer(None, problem="not run: the condition does not depend on it")), same.names


def explain_with_operators(
    identifier: SubscriptionId, expression: Expression, dnf: Dnf, event: Event, stage: OperatorStage
) -> Explanation:
    """The explanation of a subscription the stage knows."""
    witness = Witness(dnf, event, stage)
    notes: dict[Atom, str] = {a: witness.note(a) for a in atoms(expression) if not isinstance(a, Predicate)}
    told = explain(identifier, expression, event, witness.truth, notes)
    if told.matched == witness.matched:
        return told
    verdict = f"{identifier} {'matches' if witness.matched else 'does not match: no joint substitution'}"
    text = "\n".join([verdict, *told.text.splitlines()[1:]])
    return replace(told, matched=witness.matched, text=text)
