"""What the broker counts, for Prometheus."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

COMMIT = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
SIZE = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class Metrics:
    """One registry per broker, so that two in one process do not mix."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.events = Counter("tamis_events", "Events published.", registry=registry)
        self.matches = Counter("tamis_matches", "Notifications made by publishing.", registry=registry)
        self.commits = Histogram(
            "tamis_commit_seconds", "Time to make a group durable.", buckets=COMMIT, registry=registry
        )
        self.group = Histogram("tamis_group_events", "Events per group that had any.", buckets=SIZE, registry=registry)
        self.requests = Counter("tamis_requests", "Requests answered.", ["status"], registry=registry)
        self.latency = Histogram(
            "tamis_request_seconds", "Time to answer, streams left out.", buckets=COMMIT, registry=registry
        )
        self.sent = Counter("tamis_notifications_sent", "Notifications handed out.", ["way"], registry=registry)
        self.webhooks = Counter("tamis_webhook_attempts", "Webhook calls.", ["outcome"], registry=registry)
        self.streams = Gauge("tamis_streams", "Open streams.", ["way"], registry=registry)
        self.operators = Counter("tamis_operator_failures", "Operators that failed on an event.", registry=registry)

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """A gauge that asks for its value when it is read."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        """Everything, in the exposition format."""
        return generate_latest(self.registry)
