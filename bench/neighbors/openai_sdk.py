"""The same questions through the openai SDK with its default transport: URL, data, connections."""

from __future__ import annotations

import asyncio
import json
import sys

from openai import AsyncOpenAI

PROMPT = (
    "You are an expert in retrieval-based question answering. Answer from the context only.\n"
    "Context: {context}\nQuestion: {question}\nAnswer:"
)


async def main(url: str, path: str, connections: int) -> None:
    client = AsyncOpenAI(base_url=url, api_key="none", max_retries=2)
    gate = asyncio.Semaphore(connections)
    with open(path) as lines:
        rows = [json.loads(line) for line in lines]

    async def ask(row: dict) -> bool:
        async with gate:
            reply = await client.chat.completions.create(
                model="bench-model",
                messages=[{"role": "user", "content": PROMPT.format(**row)}],
                temperature=0.0,
            )
        return "unknown" in (reply.choices[0].message.content or "").lower()

    right = await asyncio.gather(*map(ask, rows))
    print(sum(right) / len(right))


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
