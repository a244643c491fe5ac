"""The Swagger page: shows the OpenAPI document, and can send requests. All its files are on this machine.

Costs 1.7 MB a load, so the deployed function has no such page.
"""

from __future__ import annotations

from pathlib import Path

from aws_lambda_powertools.event_handler.openapi import swagger_ui

from ..api.http import Response

_FILES = Path(swagger_ui.__file__).parent


def swagger_page(openapi: bytes) -> Response:
    """The page for an OpenAPI document."""
    html = swagger_ui.generate_swagger_html(
        spec=openapi.decode().replace("</", "<\\/"),
        swagger_js=(_FILES / "swagger-ui-bundle.min.js").read_text(encoding="utf-8"),
        swagger_css=(_FILES / "swagger-ui.min.css").read_text(encoding="utf-8"),
        swagger_base_url="",
        oauth2_config=None,
    )
    return Response(200, html.encode(), {"content-type": "text/html; charset=utf-8"})
