"""Example agents, one module a protocol that ships: `strabo agents run strabo_runtime.examples.<module>:<agent>`."""
