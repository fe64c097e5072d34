"""A local OpenAI-compatible endpoint that answers each call after a fixed time, in its own process.

python bench/answering.py PORT SECONDS
"""

from __future__ import annotations

import asyncio
import json
import sys

from aiohttp import web


def application(seconds: float) -> web.Application:
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "bench-model",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "unknown"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 200, "completion_tokens": 2, "total_tokens": 202},
    }
    body = json.dumps(answer).encode()

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(seconds)
        return web.Response(body=body, content_type="application/json")

    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/v1/chat/completions", handle)
    return app


if __name__ == "__main__":
    web.run_app(
        application(float(sys.argv[2])),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        print=None,
        access_log=None,
    )
