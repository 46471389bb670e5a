"""The provider of a model, and its name there, as OpenTelemetry's conventions name it."""

import pytest

from llm.call import model_at_provider, provider_of


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


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("openai/my-model", "my-model"),
        ("bedrock/anthropic.claude-v2", "anthropic.claude-v2"),
        ("openrouter/openai/gpt-4o", "openai/gpt-4o"),
        ("extractive", "extractive"),
    ],
)
def test_a_model_has_the_name_that_its_provider_gives_it(model: str, name: str) -> None:
    assert model_at_provider(model) == name
