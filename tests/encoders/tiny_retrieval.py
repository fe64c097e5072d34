"""Small encoders for retrieval with random weights: DPR's two, and Contriever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.encoders import tiny


def tiny_dpr(
    folder: Path, half: str, *, projection: int = 0, onnx: bool = False, seed: int = 0
) -> Path:
    """`half`: Question or Context. 32 dimensions, or as many as `projection`."""
    import torch
    import transformers

    sizes = tiny._bert(seed).to_dict()
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    names += ("max_position_embeddings", "initializer_range", "vocab_size")
    config = transformers.DPRConfig(
        **{name: sizes[name] for name in names}, projection_dim=projection
    )
    torch.manual_seed(seed)
    model = getattr(transformers, f"DPR{half}Encoder")(config)
    tiny._save(model, folder, tiny._wordpiece())
    if onnx:
        tiny._export(model, folder / "model.onnx", tiny._PAIR_INPUTS, "pooler_output")
    return folder


def tiny_contriever(folder: Path, seed: int = 0) -> Path:
    """A BERT whose config.json names the class of Contriever's own code."""
    import transformers

    model = transformers.BertModel(tiny._bert(seed), add_pooling_layer=False)
    tiny._save(model, folder, tiny._wordpiece())
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["architectures"] = ["Contriever"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
