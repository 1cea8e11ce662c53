"""Trying again: waits that double up to a limit, with jitter so that many do not try again at one moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_never,
    wait_exponential,
    wait_random,
)

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Backoff:
    """`first` seconds before the second attempt, twice as long each time up to `limit`; up to half of `first` more.

    `attempts` is how many there are in all, None for as many as it takes.
    """

    first: float
    limit: float
    attempts: int | None = None


async def until_it_works(
    work: Callable[[], Awaitable[T]],
    backoff: Backoff,
    *,
    may_pass: Callable[[BaseException], bool],
    sleep: Sleep,
    on_failure: Callable[[int, BaseException], None],
) -> T:
    """The result of `work`, tried again while what it raises `may_pass`; each failure is told with its number.

    Raises:
        Exception: what the last attempt raised.
    """
    # Nearly everything works at once, and setting up the retrying costs more than handling a message.
    try:
        return await work()
    except Exception as error:
        if not may_pass(error):
            raise
        failed: Exception | None = error

    async def attempt() -> T:
        nonlocal failed
        if failed is not None:
            first_error, failed = failed, None
            raise first_error
        return await work()

    def tell(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is not None:
            on_failure(state.attempt_number, error)

    return await AsyncRetrying(
        stop=stop_never if backoff.attempts is None else stop_after_attempt(backoff.attempts),
        retry=retry_if_exception(may_pass),
        wait=wait_exponential(multiplier=backoff.first, max=backoff.limit)
        + wait_random(0, backoff.first / 2),
        sleep=sleep,
        before_sleep=tell,
        reraise=True,
    )(attempt)
