"""The command `strabo`, one module a group of verbs; heavy imports wait until a verb needs them."""

import sys


def entry() -> None:
    """Run the command of this process's arguments; Ctrl-C ends it without a word, also while it is still loading."""
    try:
        from strabo_runtime.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
