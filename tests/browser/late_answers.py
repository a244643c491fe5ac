"""Answers that a browser gets later than the server has given them, so that tests can force their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import APIResponse, Page, Request, Route

from tests.browser.browsing import PATIENCE_MS


@dataclass
class Late:
    """Answers that the server has given, and the page has not got."""

    answers: list[tuple[Route, APIResponse]] = field(default_factory=list)

    def await_answer(self, page: Page) -> None:
        """The server has answered."""
        ends = time.monotonic() + PATIENCE_MS / 1000
        while not self.answers:
            assert time.monotonic() < ends, "nothing is asked that is to be held back"
            page.wait_for_timeout(10)  # Routes are handled meanwhile.

    def come(self, page: Page) -> None:
        """The page gets the answers, and has time to make something of them."""
        assert self.answers, "nothing was asked that is held back"
        for route, answer in self.answers:
            route.fulfill(response=answer)
            got = route.request.response()
            assert got is not None
            got.finished()
        page.evaluate("() => new Promise((done) => setTimeout(done, 50))")


@contextmanager
def held_back(page: Page, chosen: Callable[[Request], bool]) -> Iterator[Late]:
    """The answers to the chosen requests come late."""
    late = Late()

    def handle(route: Route) -> None:
        if chosen(route.request):
            late.answers.append((route, route.fetch()))
        else:
            route.continue_()

    page.route("**/v1/**", handle)
    yield late
    page.unroute_all(behavior="ignoreErrors")


def asks(method: str, part: str, of: str = "") -> Callable[[Request], bool]:
    """Requests with a part in their path, and a text in their body or their path."""
    return lambda request: (
        request.method == method and part in request.url and of in request.url + str(request.post_data or "")
    )
