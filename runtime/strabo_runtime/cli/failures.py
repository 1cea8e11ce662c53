"""How a command ends when something is wrong: one clear line on stderr and an exit code that says who must act."""

from __future__ import annotations

import errno
import os
import select
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, NoReturn

import typer

FINDING, USAGE, UNREACHABLE, INTERNAL, INTERRUPTED = 1, 2, 3, 70, 130

# The trees of the packages by name, so that naming an error here does not import its package. The nearest class wins.
_EXIT_CODES = {
    "strabo_topics.errors.BrokerUnreachable": UNREACHABLE,
    "strabo_topics.errors.TopicsError": USAGE,
    "strabo_avro.errors.AvroError": FINDING,
    "strabo_agents.errors.NoAnswer": UNREACHABLE,
    "strabo_agents.errors.AgentsError": USAGE,
    "strabo_broker.errors.BrokerError": USAGE,
    "strabo_runtime.errors.OperatorError": FINDING,
    "strabo_runtime.journal.UnreadableStep": FINDING,
    "strabo_runtime.engine.errors.EngineError": FINDING,
    "strabo_runtime.language.errors.LanguageError": USAGE,
    "strabo_runtime.simulator.errors.SimulatorError": USAGE,
    "strabo_runtime.worker.errors.WorkerError": USAGE,
}
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_EXTRAS = {
    "strabo[runtime]": (
        "cel_expr_python",
        "jsonschema_rs",
        "ruamel",
        "google",
        "graphviz_pure",
        "strabo_broker",
    ),
}


class CommandError(Exception):
    """A command cannot go on; `code` is the exit code and the text is the line that the user reads."""

    def __init__(self, text: str, code: int = USAGE) -> None:
        super().__init__(text)
        self.code = code


def fail(text: str, code: int = USAGE) -> NoReturn:
    """End the command with one line.

    Raises:
        CommandError: always.
    """
    raise CommandError(text, code)


def report(error: BaseException) -> int:
    """Print what went wrong in one line on stderr and return the exit code. Never a traceback for a known error."""
    if _reader_has_gone(error):
        _silence_standard_output()
        return 0
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else USAGE
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED
    if isinstance(error, typer.Exit):
        return error.exit_code
    if _is_named(error, "ClickException"):
        _say_usage(error)
        return USAGE
    if isinstance(error, ModuleNotFoundError) and (hint := _missing_extra(error)):
        _say(hint)
        return USAGE
    code = _exit_code(error)
    if code is not None:
        # Bad settings come all at once, a line each.
        for line in getattr(error, "lines", None) or [_one_line(error)]:
            _say(line)
        return code
    if isinstance(error, OSError) and error.filename is not None:
        _say(f"{error.filename}: {error.strerror}")
        return USAGE
    if isinstance(error, OSError) and error.errno in _FULL:
        _silence_standard_output()
        _say(f"the output cannot be written: {error.strerror}")
        return USAGE
    return _internal(error)


def _is_named(error: BaseException, name: str) -> bool:
    # By name, because typer carries a copy of click since 0.29 and click's own classes before.
    return any(cls.__name__ == name for cls in type(error).__mro__)


def _say_usage(error: Any) -> None:
    if _is_named(error, "NoArgsIsHelpError"):
        print(error.format_message())
        return
    context = getattr(error, "ctx", None)
    _say(f"{error.format_message()} (see `{context.command_path if context else 'strabo'} --help`)")


def _exit_code(error: BaseException) -> int | None:
    if isinstance(error, CommandError):
        return error.code
    for cls in type(error).__mro__:
        code = _EXIT_CODES.get(f"{cls.__module__}.{cls.__qualname__}")
        if code is not None:
            return code
    return None


def _missing_extra(error: ModuleNotFoundError) -> str | None:
    missing = (error.name or "").partition(".")[0]
    for extra, modules in _EXTRAS.items():
        if missing in modules:
            return f"this command needs the package {missing}, which is not installed; run: pip install '{extra}'"
    return None


def _internal(error: BaseException) -> int:
    text = "".join(traceback.format_exception(error))
    if os.environ.get("STRABO_DEBUG") == "1":
        sys.stderr.write(text)
        return INTERNAL
    handle, path = tempfile.mkstemp(prefix="strabo-error-", suffix=".txt", text=True)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    _say(
        f"internal error: {type(error).__name__}: {_one_line(error)}; this is a fault of strabo, "
        f"please report it with {Path(path)}"
    )
    return INTERNAL


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _say(text: str) -> None:
    print(f"strabo: {text}", file=sys.stderr)


def _reader_has_gone(error: BaseException) -> bool:
    """Whether it is our own output that nobody reads any more (`strabo ... | head`), and not a connection that broke.

    The command line library turns the error into an exit of its own, which then has it as its context.
    """
    if not isinstance(error.__context__ if isinstance(error, SystemExit) else error, BrokenPipeError):
        return False
    if sys.__stdout__ is None or not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(sys.__stdout__.fileno(), 0)
    # The end of a pipe that is written to is in error once nobody holds the other end.
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _silence_standard_output() -> None:
    # The flush at exit must not complain about what it cannot write; it goes by the descriptor.
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
