"""The command: ``python -m delassus rollout ant.xml``."""

import os
import signal
import sys

from delassus._core import command


def main() -> None:
    """Runs the command with the arguments of this process and exits with its code."""
    # The command runs in Rust, where Python's handler would wait for its end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Mesa's drivers look for a display, and complain where nobody is logged in.
    os.environ.setdefault("XDG_RUNTIME_DIR", "/nonexistent")
    sys.exit(command(["delassus", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
