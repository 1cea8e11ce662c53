"""Finds an agent by `module:attribute`, as the command line names it."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback

from strabo_agents.agent import Agent
from strabo_agents.errors import AgentsError, LoadError


def load_agent(path: str) -> Agent:
    """The agent that `path`, written `module:attribute`, leads to; the working directory is looked in first.

    Raises:
        LoadError: the module is not found or fails, or has no such attribute, or that is no `Agent`.
    """
    module_name, colon, attribute = path.partition(":")
    if not colon or not module_name or not attribute:
        raise LoadError(f"{path!r} does not name an agent: write MODULE:ATTRIBUTE, as in solver:agent")
    module = _import(module_name)
    found: object = module
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise LoadError(
                f"module {module_name} has no attribute {attribute!r}{_agents_of(module, attribute)}"
            )
        found = getattr(found, name)
    if not isinstance(found, Agent):
        raise LoadError(f"{path} is not an Agent but {type(found).__name__}{_agents_of(module, attribute)}")
    return found


def _import(name: str) -> object:
    folder = os.getcwd()  # noqa: PTH109 - sys.path holds text
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            hint = (
                " (write the module's dotted name, without .py)"
                if name.endswith(".py") or "/" in name
                else ""
            )
            raise LoadError(
                f"there is no module {missing} in {folder} or the installed packages{hint}"
            ) from error
        raise LoadError(
            f"module {name} needs {missing}, which is not installed: pip install it first"
        ) from error
    except AgentsError as error:
        raise LoadError(f"module {name} cannot be loaded: {error}") from error
    except (Exception, SystemExit) as error:
        raise LoadError(
            f"module {name} cannot be loaded: {_where(error)}{type(error).__name__}: {error}"
        ) from error


def _where(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def _agents_of(module: object, wanted: str) -> str:
    agents = sorted(name for name, value in vars(module).items() if isinstance(value, Agent))
    if not agents:
        return "; it holds no Agent"
    near = difflib.get_close_matches(wanted, agents, n=1) or agents[:1]
    return f"; did you mean {near[0]}?"
