"""Ends a process whose event loop is wedged, so that its supervisor starts another and its partitions move on."""

from __future__ import annotations

import asyncio
import faulthandler

PATIENCE_S = 60.0
LOOK_EVERY_S = 5.0


async def watch(patience: float = PATIENCE_S, look_every: float = LOOK_EVERY_S) -> None:
    """While this runs, a loop that stands still for `patience` seconds ends the process, with a trace of every thread.

    Waiting for a broker is no standing still: the loop goes on meanwhile.
    """
    try:
        while True:
            faulthandler.dump_traceback_later(patience, exit=True)
            await asyncio.sleep(look_every)
    finally:
        faulthandler.cancel_dump_traceback_later()
