"""For authors of functions that protocols may call: the decorator, and what the installed packages register."""

from strabo_runtime.expressions.errors import FunctionsError
from strabo_runtime.expressions.installed import installed_functions
from strabo_runtime.expressions.python_functions import function
from strabo_runtime.expressions.registry import Function, Functions

__all__ = ["Function", "Functions", "FunctionsError", "function", "installed_functions"]
