"""The numbers of a scored batch as bytes: what shards and unfinished runs keep of it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from trueground.evaluate.table import Scored


def encode_numbers(scored: Scored) -> bytes:
    """Return the batch without its lines and records; an array becomes {type: [shape, bytes]}."""
    fields: dict[str, Any] = vars(scored) | {"items": b"", "records": b""}
    for name, value in fields.items():
        if isinstance(value, np.ndarray):
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            fields[name] = {little.dtype.str: [value.shape, little.tobytes()]}
    return msgspec.msgpack.encode(fields)


def decode_numbers(content: bytes) -> Scored:
    """Return the batch, without lines and records, that `encode_numbers` was given."""
    fields = msgspec.msgpack.decode(content)
    for name, value in fields.items():
        if isinstance(value, dict):
            [(kind, (shape, data))] = value.items()
            fields[name] = np.frombuffer(data, kind).reshape(shape)
    return Scored(**fields)
