"""The waits between attempts: doubling up to a limit, with jitter so that many do not try again at one moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential, wait_random
from tenacity.wait import wait_base

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


def exponential(first: float, limit: float) -> wait_base:
    """`first` seconds before the second attempt, twice as long each time up to `limit`; up to half of `first` more."""
    return wait_exponential(multiplier=first, max=limit) + wait_random(0, first / 2)


async def until_it_works(
    work: Callable[[], Awaitable[T]],
    *,
    may_pass: Callable[[BaseException], bool],
    first: float,
    limit: float,
    sleep: Sleep,
    on_failure: Callable[[int, BaseException], None],
) -> T:
    """The result of `work`, tried for as long as what it raises `may_pass`; each failure is told with its number."""

    def tell(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is not None:
            on_failure(state.attempt_number, error)

    async def attempt() -> T:
        return await work()

    return await AsyncRetrying(
        retry=retry_if_exception(may_pass),
        wait=exponential(first, limit),
        sleep=sleep,
        before_sleep=tell,
        reraise=True,
    )(attempt)
