"""An embedded, single-node broker that speaks Kafka's protocol and keeps its log in SQLite; for development."""

from strabo_broker.errors import BrokerError
from strabo_broker.server import Broker
from strabo_broker.settings import BrokerSettings

__all__ = ["Broker", "BrokerError", "BrokerSettings"]
