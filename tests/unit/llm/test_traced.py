"""The provider of a model, as OpenTelemetry's conventions name it."""

import pytest

from llm.call import provider_of


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("gpt-4o-mini", "openai"),
        ("openai/my-model", "openai"),
        ("claude-haiku-4-5", "anthropic"),
        ("anthropic/claude-haiku-4-5", "anthropic"),
        ("azure/gpt-4o", "azure.ai.openai"),
        ("bedrock/anthropic.claude-v2", "aws.bedrock"),
        ("vertex_ai/gemini-2.5-pro", "gcp.vertex_ai"),
        ("gemini/gemini-2.5-flash", "gcp.gemini"),
        ("mistral/mistral-small", "mistral_ai"),
        ("xai/grok-4", "x_ai"),
        ("groq/llama-3.3-70b", "groq"),
        ("ollama/qwen3", "ollama"),
        ("extractive", "afterturn"),
    ],
)
def test_a_provider_has_its_name_of_the_conventions(model: str, provider: str) -> None:
    assert provider_of(model) == provider
