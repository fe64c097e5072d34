"""Links with a token, and the cookies that they set.

All accounts of a machine share its loopback addresses, so that a server there needs to know who
asks, too.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable

from aiohttp import web

from trueground.view.browser import plain_page
from trueground.view.server import Address, JsonResponse

_PARAMETER = "token"
_REFUSAL = (
    "This page needs the link with a token that trueground printed in its terminal when it "
    "started. Open that link once in this browser."
)


def is_same_secret(given: str, secret: str) -> bool:
    """Compare secrets in a time that does not depend on how much is the same."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


class LinkAccess:
    """The token of a server's first link. Who has opened the link has a cookie from then on."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._token = secrets.token_urlsafe(32)
        self._secret = secrets.token_urlsafe(32)
        self._cookie = address.cookie_name

    def link(self, path: str = "/") -> str:
        """Return the link to a page."""
        return f"{self._address.url}{path}?{_PARAMETER}={self._token}"

    @web.middleware
    async def check(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        """Answer requests that have the cookie, set it for the link, and refuse all others."""
        is_known = is_same_secret(request.cookies.get(self._cookie, ""), self._secret)
        token = request.query.get(_PARAMETER)
        if token is None and is_known:
            return await handler(request)
        if token is not None and (is_known or is_same_secret(token, self._token)):
            # The token is in no address that is shown, kept or sent on.
            location = str(request.url.without_query_params(_PARAMETER))
            response = web.Response(status=303, headers={"Location": location})
            self._address.set_cookie(response, self._secret)
            return response
        if "text/html" not in request.headers.get("Accept", ""):
            return JsonResponse.refusal(403, _REFUSAL)
        return _refusal_page(request)


def _refusal_page(request: web.Request) -> web.Response:
    # From another site or a file, the browser withholds the cookie from the first request. It
    # sends it when a page of ours loads the same address.
    is_led_here = request.headers.get("Sec-Fetch-Site") == "cross-site"
    text = plain_page(_REFUSAL, leads_to=str(request.url) if is_led_here else None)
    return web.Response(status=403, text=text, content_type="text/html")
