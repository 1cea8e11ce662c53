"""Answers about the broker itself: ApiVersions, Metadata, FindCoordinator, DescribeCluster."""

from __future__ import annotations

from strabo_broker.api.call import Answers, Call, Endpoint
from strabo_broker.codes import ErrorCode
from strabo_broker.errors import Refusal
from strabo_broker.topics import Topic, Topics, check_name
from strabo_broker.wire import cluster
from strabo_broker.wire.apis import APIS

_VERSIONS = tuple(cluster.ApiVersion(each.key, each.oldest, each.newest) for each in APIS.values())
_COORDINATED = frozenset({0, 1})  # groups, transactional ids


class ClusterApi:
    """This broker is the whole cluster: controller, leader of every partition, every coordinator."""

    def __init__(self, topics: Topics, endpoint: Endpoint) -> None:
        self._topics = topics
        self._endpoint = endpoint

    def answers(self) -> Answers:
        return {18: self.api_versions, 3: self.metadata, 10: self.find_coordinator, 60: self.describe_cluster}

    async def api_versions(
        self, request: cluster.ApiVersionsRequest | None, _: Call
    ) -> cluster.ApiVersionsResponse:
        error = ErrorCode.NONE if request is not None else ErrorCode.UNSUPPORTED_VERSION
        return cluster.ApiVersionsResponse(error, _VERSIONS)

    async def metadata(self, request: cluster.MetadataRequest, call: Call) -> cluster.MetadataResponse:
        wanted = request.topics
        if wanted is None or (call.version == 0 and not wanted):  # version 0 has no null: empty means all
            topics = tuple(self._describe(each) for each in self._topics)
        else:
            topics = tuple(self._find(each.name) for each in wanted)
        here = self._endpoint
        return cluster.MetadataResponse(
            brokers=(cluster.MetadataBroker(here.node_id, here.host, here.port),),
            cluster_id=here.cluster_id,
            controller_id=here.node_id,
            topics=topics,
        )

    def _find(self, name: str) -> cluster.MetadataTopic:
        found = self._topics.find(name)
        if found is not None:
            return self._describe(found)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            check_name(name)
        except Refusal as refusal:
            code = refusal.code
        return cluster.MetadataTopic(code, name)

    def _describe(self, topic: Topic) -> cluster.MetadataTopic:
        here = (self._endpoint.node_id,)
        return cluster.MetadataTopic(
            ErrorCode.NONE,
            topic.name,
            partitions=tuple(
                cluster.MetadataPartition(ErrorCode.NONE, each.number, self._endpoint.node_id, 0, here, here)
                for each in topic.partitions
            ),
        )

    async def find_coordinator(
        self, request: cluster.FindCoordinatorRequest, _: Call
    ) -> cluster.FindCoordinatorResponse:
        if request.key_type not in _COORDINATED:
            return cluster.FindCoordinatorResponse(error_code=ErrorCode.INVALID_REQUEST)
        here = self._endpoint
        return cluster.FindCoordinatorResponse(node_id=here.node_id, host=here.host, port=here.port)

    async def describe_cluster(
        self, _request: cluster.DescribeClusterRequest, _: Call
    ) -> cluster.DescribeClusterResponse:
        here = self._endpoint
        return cluster.DescribeClusterResponse(
            cluster_id=here.cluster_id,
            controller_id=here.node_id,
            brokers=(cluster.DescribeClusterBroker(here.node_id, here.host, here.port),),
        )
