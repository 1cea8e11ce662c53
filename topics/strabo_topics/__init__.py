"""Kafka as Strabo uses it: topic names and layout, their plan and creation, configured clients, settings."""
