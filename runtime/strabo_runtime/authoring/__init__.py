"""What editors know of protocol and scenario files: their JSON Schemas, made of one table of keys."""

from strabo_runtime.authoring.protocol_schema import protocol_schema
from strabo_runtime.authoring.scenario_schema import scenario_schema

__all__ = ["protocol_schema", "scenario_schema"]
