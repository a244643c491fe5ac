"""`shardweave dev`: `serve` for the developer of a service.

It restarts after edits, logs what each query and each write did, and opens the Explorer in a browser if there is one,
with a token if claims for it are given.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ..access.tokens import GROUPS, encode_token
from ..cli.token import claim
from ..database.data_folder import DataFolder
from ..database.project import command_name
from ..schema.entity import now_ms
from . import serve

BROWSER_SECONDS = 60
LOOK_SECONDS = 0.3
NO_BROWSER = "--no-browser"
TOKEN_SECONDS = 12 * 3600


def main(arguments: list[str]) -> int:
    """Serve until a signal arrives."""
    options = parser().parse_args(arguments)
    if not options.no_browser and options.port and has_a_screen():
        made = partial(token, options.data, dict(options.claim)) if options.claim else None
        threading.Thread(target=open_when_ready, args=(options.host, options.port, made), daemon=True).start()
    return serve.main(["--reload", "--plans", *for_serve(arguments)])


def parser() -> argparse.ArgumentParser:
    """The parser of the arguments: those of `serve`, and one more."""
    found = serve.parser()
    found.prog = command_name("dev")
    found.description = (
        "Serve a service while it is written: restarts after edits, plans and costs of queries and writes in the log."
    )
    found.add_argument(NO_BROWSER, action="store_true", help="do not open the Explorer in a browser")
    found.add_argument(
        "--claim",
        type=claim,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="open it with the token of an operator who has this claim; may be given again",
    )
    return found


def for_serve(arguments: Sequence[str]) -> list[str]:
    """The arguments that are passed on to `serve`."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    own.add_argument(NO_BROWSER, action="store_true")
    own.add_argument("--claim", action="append")
    return own.parse_known_args(arguments)[1]


def token(folder: Path, claims: Mapping[str, str]) -> str:
    """A development token of an operator for the server of a data folder."""
    secret = DataFolder(folder).token_secret()
    return encode_token({**claims, GROUPS: ["operators"]}, secret, now=now_ms() // 1000, seconds=TOKEN_SECONDS)


def has_a_screen() -> bool:
    """Whether a browser window would be visible, and not open in the terminal."""
    shown = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return shown and sys.stderr.isatty()


def open_when_ready(
    host: str,
    port: int,
    token: Callable[[], str] | None = None,
    show: Callable[[str], object] = webbrowser.open,
    seconds: float = BROWSER_SECONDS,
) -> None:
    """Open the Explorer, with a token, as soon as the server answers; do nothing if it does not answer in time."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if _answers(host, port):
            shown = f"[{host}]" if ":" in host else host
            show(f"http://{shown}:{port}/explorer" + ("" if token is None else f"#token={token()}"))
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
