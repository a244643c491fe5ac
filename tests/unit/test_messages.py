"""docs/messages.md is what the library says when something is wrong. `WRITE_DOCS=1` writes it anew."""

from __future__ import annotations

import os

from .guide_page import DOCS, page_text
from .message_page import messages_page


def test_the_page_is_what_the_library_says() -> None:
    written = messages_page()
    if os.environ.get("WRITE_DOCS"):
        (DOCS / "messages.md").write_text(written, encoding="utf-8")
    assert page_text("messages.md") == written, "write it anew: WRITE_DOCS=1 ./run test unit -k test_messages"
