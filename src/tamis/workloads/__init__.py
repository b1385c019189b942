"""Seeded generators of subscriptions and events; they know nothing of engines."""
