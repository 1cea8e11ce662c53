"""An embedded, single-node broker that speaks Kafka's protocol and keeps its log in SQLite. For development.

    broker = Broker(BrokerSettings(data_dir=Path("data")))
    await broker.start()
    ...  # clients connect to broker.bootstrap
    await broker.stop()

It does what one machine needs, as Apache Kafka does it: topics, groups with static members, idempotent and
transactional producers, retention, compaction. It has no replication, encryption, authentication or quotas.

What is acknowledged survives the death of the process, also by kill -9. With `durability="machine"` it survives a power
failure too. A topic is made by CreateTopics alone. What is deleted makes room in the file, which does not shrink.

Read in this order: `wire.schema` (the messages' language), `wire.apis` (what is offered), `connection` (frames),
`partition` (a log), `transactions`, `groups`, `store` (when an answer may leave), `server` (the whole).
"""

from strabo_broker.errors import BrokerError
from strabo_broker.server import Broker
from strabo_broker.settings import BrokerSettings

__all__ = ["Broker", "BrokerError", "BrokerSettings"]
