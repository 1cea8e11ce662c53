"""Running things side by side that end together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


async def together(*jobs: Coroutine[None, None, None]) -> None:
    """Run these until one of them ends or fails, then cancel the others; raises what the first one raised."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        done, _pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        if task in done:
            task.result()
