"""The broker's data folder: made, locked against a second broker, and removed again if it is temporary."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from strabo_broker.errors import DataDirLocked, DataDirUnwritable

_LOCK_NAME: Final = "broker.lock"


class DataDir:
    """A folder that this process alone uses while it holds the lock; a killed process lets go of it."""

    def __init__(self, path: Path | None) -> None:
        self.is_temporary = path is None
        self.path = Path(tempfile.mkdtemp(prefix="strabo-broker-")) if path is None else path
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DataDirUnwritable(
                f"the data folder {self.path} cannot be used: {error.strerror}; choose a folder that can be written"
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise DataDirLocked(
                f"the data folder {self.path} is used by another broker; stop that one, or choose another folder"
            ) from None

    def release(self) -> None:
        """Let go of the folder, and remove it if it is temporary."""
        os.close(self._lock)
        if self.is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)
