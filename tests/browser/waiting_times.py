"""How long a reader of the Explorer waits, in the browser's own milliseconds. The benchmark measures by the same."""

from __future__ import annotations

from playwright.sync_api import Page

SHOWN = """async (selector) => {
  const began = performance.now();
  document.querySelector(selector).click();
  await new Promise((done) => {
    const look = () => {
      const busy = document.querySelector(".grid").ariaBusy === "true";
      if (busy || performance.now() - began < 1) requestAnimationFrame(look); else done();
    };
    setTimeout(look);
  });
  return performance.now() - began;
}"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def first_paint(page: Page) -> float:
    """Until something was shown, since the page was asked for."""
    return float(page.evaluate(PAINT))


def until_shown(page: Page, selector: str) -> float:
    """From a click until the grid shows what it asked for."""
    return float(page.evaluate(SHOWN, selector))
