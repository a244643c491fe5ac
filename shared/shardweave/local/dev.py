"""`shardweave dev`: `serve` for whoever writes the service.

It starts again after edits, says in its log of each query what it did and why, and opens the Explorer in a browser
where there is one.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable

from ..database.project import command_name
from . import serve

BROWSER_SECONDS = 60
LOOK_SECONDS = 0.3
NO_BROWSER = "--no-browser"


def main(arguments: list[str]) -> int:
    """Serve until a signal comes."""
    options = parser().parse_args(arguments)
    served = [each for each in arguments if each != NO_BROWSER]
    if not options.no_browser and options.port and has_a_screen():
        threading.Thread(target=open_when_ready, args=(options.host, options.port), daemon=True).start()
    return serve.main(["--reload", "--plans", *served])


def parser() -> argparse.ArgumentParser:
    """The arguments: those of `serve`, and one more."""
    found = serve.parser()
    found.prog = command_name("dev")
    found.description = (
        "Serve a service while it is written: restarts after edits, plans and costs of queries in the log."
    )
    found.add_argument(NO_BROWSER, action="store_true", help="do not open the Explorer in a browser")
    return found


def has_a_screen() -> bool:
    """Whether a browser that is opened can be seen, and is none of the terminal's own."""
    shown = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return shown and sys.stderr.isatty()


def open_when_ready(
    host: str, port: int, show: Callable[[str], object] = webbrowser.open, seconds: float = BROWSER_SECONDS
) -> None:
    """Show the Explorer as soon as the server answers; nothing where it does not in time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if _answers(host, port):
            shown = f"[{host}]" if ":" in host else host
            show(f"http://{shown}:{port}/explorer")
            return
        time.sleep(LOOK_SECONDS)


def _answers(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=LOOK_SECONDS * 10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status < http.client.BAD_REQUEST
    except OSError:
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
