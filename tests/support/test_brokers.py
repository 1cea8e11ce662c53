"""A broker that cannot be started skips its tests on a developer's machine and fails them in CI."""

from __future__ import annotations

import pytest

from tests.support.brokers import started
from tests.support.services import BrokerService, ServiceUnavailableError


def unavailable() -> BrokerService:
    raise ServiceUnavailableError("install the broker")


def test_without_ci_the_test_is_skipped_with_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="install the broker"), started(unavailable):
        pass


def test_in_ci_the_test_fails_with_the_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="install the broker"), started(unavailable):
        pass
