"""Where an OpenAI-compatible endpoint is and how it lets us in."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from trueground.errors import UsageError
from trueground.models.options import ModelOptions
from trueground.net.http import HttpClient, Policy
from trueground.net.limits import Limiter
from trueground.net.redact import shown

KEY_VARIABLE = "OPENAI_API_KEY"
ADDRESS_VARIABLE = "OPENAI_BASE_URL"
_OPENAI = "https://api.openai.com/v1"
_DOOR = re.compile(r"(?i)key|token|sig|secret|pass|auth|cred|code")
_CERTAIN = 16  # characters of a value in an address that is no word by chance


@dataclass(frozen=True)
class Endpoint:
    """`base` may be shown; what opens the door (`query`, `headers`, `secrets`) may not."""

    base: str
    query: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def url(self, path: str) -> str:
        """The whole address of a path such as `chat/completions`, with all that it needs."""
        return f"{self.base}/{path}" + (f"?{self.query}" if self.query else "")

    def client(self, options: ModelOptions, *, backoff: float = 1.0) -> HttpClient:
        """A client that is let in, with the limits of the options; `backoff` as in Policy.

        Raises UsageError for limits that let nothing out.
        """
        policy = Policy(
            max_connections=options.max_connections,
            timeout=options.timeout,
            deadline=options.deadline,
            max_attempts=options.max_attempts,
            backoff=backoff,
        )
        limiter = Limiter(options.rpm, options.tpm)
        return HttpClient(policy, headers=self.headers, secrets=self.secrets, limiter=limiter)


def find_endpoint(options: ModelOptions) -> Endpoint:
    """From the options, else from the environment, else OpenAI's. Raises UsageError."""
    if options.base_url is not None and not options.base_url.strip():
        raise UsageError("the base URL is empty; name an endpoint, or leave it out for OpenAI's")
    address = options.base_url or os.environ.get(ADDRESS_VARIABLE) or _OPENAI
    parts = _parsed(address)
    base = shown(parts._replace(path=parts.path.rstrip("/")).geturl())
    given = parse_qsl(parts.query)
    # Other short values may be words of a reply, such as the date of Azure's api-version.
    values = (v for name, v in given if len(v) >= _CERTAIN or _DOOR.search(name))
    secrets = [parts.query, *values]
    headers = {}
    if parts.password is not None:
        secrets += [parts.password, unquote(parts.password)]
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password)}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        secrets.append(headers["Authorization"].removeprefix("Basic "))
    key = _key(options, parts)
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
        secrets.append(key)
    # Longest first, so that a secret within a secret does not leave the rest of it standing.
    return Endpoint(base, parts.query, headers, tuple(sorted(filter(None, secrets), key=len)[::-1]))


def _parsed(address: str) -> SplitResult:
    try:
        parts = urlsplit(address.strip())
        whole = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port  # a number, or ValueError
    except ValueError:
        whole = False
    if not whole:
        raise UsageError(
            f"the base URL {shown(address)!r} is no address of an endpoint; expected one such as "
            "http://localhost:8000/v1 (--base-url or the variable OPENAI_BASE_URL)"
        )
    _check_base(parts)
    return parts


def _check_base(parts: SplitResult) -> None:
    """Raises UsageError for the address of a call, which is easily taken for the base URL."""
    for call in ("/chat/completions", "/completions"):
        if parts.path.rstrip("/").endswith(call):
            short = parts._replace(path=parts.path.rstrip("/").removesuffix(call))
            raise UsageError(
                f"the base URL {shown(parts.geturl())!r} is that of a call; give the part before "
                f"{call}: {shown(short.geturl())} (--base-url or the variable OPENAI_BASE_URL)"
            )


def _key(options: ModelOptions, parts: SplitResult) -> str | None:
    """The key from the environment, None where none is needed. Raises UsageError."""
    if options.api_key_env is None and parts.password is not None:
        return None  # the address itself lets us in
    name = options.api_key_env or KEY_VARIABLE
    key = os.environ.get(name, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"the environment variable {name} holds no API key: there are spaces or special "
            "characters in it; set it to the key alone"
        )
    if key:
        return key
    if options.api_key_env is None and parts.hostname != "api.openai.com":
        return None  # a server of one's own
    raise UsageError(
        f"the environment variable {name} is not set; it should hold the API key for "
        f"{parts.hostname}. Set it, or name another variable with --api-key-env"
    )
