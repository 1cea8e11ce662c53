"""The SDK needs the base installation alone, and what needs more says what to install."""

from __future__ import annotations

import subprocess
import sys

HIDDEN = ["cel_expr_python", "google", "jsonschema_rs", "ruamel", "ruamel.yaml"]
HIDE = f"import sys; sys.modules.update(dict.fromkeys({HIDDEN}))"


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", f"{HIDE}\n{code}"], capture_output=True, text=True, check=False
    )


def test_the_sdk_needs_no_extra() -> None:
    done = run(
        "import importlib, pkgutil, strabo_agents\n"
        "for each in pkgutil.walk_packages(strabo_agents.__path__, 'strabo_agents.'):\n"
        "    importlib.import_module(each.name)\n"
        "assert not any(name.startswith('strabo_runtime') for name in sys.modules)"
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_simulation_says_what_to_install() -> None:
    done = run("import strabo_runtime.testing")

    assert "run: pip install 'strabo[runtime]'" in done.stderr.splitlines()[-1]
