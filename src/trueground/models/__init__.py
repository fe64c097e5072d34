"""Chat models: one protocol; OpenAI-compatible endpoints, local Hugging Face, replay, fake."""
