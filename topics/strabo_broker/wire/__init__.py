"""Kafka's request and response messages as typed values, and their bounded codecs."""
