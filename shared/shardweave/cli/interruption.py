"""How Ctrl+C ends a process: at once, and silently, while it is loaded and after its work; in between it is raised, so
that a command can say how to go on.

It has to be in force as soon as it can, so it imports little. A signal that is ignored, as of a process in the
background, stays so.
"""

import os
import signal
import sys
from typing import Any

AGAIN_SECONDS = 0.01


def end_at_once(code: int, *others: signal.Signals) -> None:
    """Let Ctrl+C, and `others`, end the process with a code: nothing is under way that would need an end."""

    def end(number: int, frame: object) -> None:
        os._exit(code)

    _handle(end, others)


def raise_interruptions(*others: signal.Signals) -> None:
    """Let Ctrl+C, and `others`, raise KeyboardInterrupt."""
    sys.unraisablehook = _raise_later
    _handle(signal.default_int_handler, others)


def _handle(handler: Any, others: tuple[signal.Signals, ...]) -> None:
    for number in (signal.SIGINT, *others):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # `./run` holds it while Python starts.


def _raise_later(unraisable: Any) -> None:
    """Where nothing can be raised, as in what the collection of an object calls, Python would print it and go on."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    import threading

    main = threading.main_thread().ident or 0
    threading.Timer(AGAIN_SECONDS, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
