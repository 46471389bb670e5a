"""Names of a model: the given id, without its host, and in the maker's spelling."""

import re
from functools import lru_cache

_HOST_NAMES = (
    "aihubmix anyscale azure azure_ai azure_text baseten bedrock bedrock_mantle cerebras cloudflare converse "
    "converse_like custom_openai databricks deepinfra fireworks fireworks_ai friendliai gateway github "
    "github_copilot gmi google-gla google-vertex groq helicone hosted_vllm huggingface hyperbolic invoke "
    "lambda_ai litellm_proxy llamagate lm_studio nebius novita nscale oci ollama ollama_chat openrouter "
    "ovhcloud perplexity portkey replicate sagemaker sagemaker_chat sambanova scaleway snowflake together "
    "together_ai vercel_ai_gateway vertex vertex_ai vllm wandb watsonx"
)
_HOSTS = frozenset(_HOST_NAMES.split())
"""Hosts of other makers' models."""

_SCHEME_NAMES = (
    "anthropic bedrock cohere deepseek google google-gla google-vertex groq mistral openai openrouter xai"
)
_SCHEMES = frozenset(_SCHEME_NAMES.split())
"""Prefixes with a colon, sent by some clients."""

_MAKERS = (
    (r"claude", "anthropic"),
    (r"gpt-oss|gpt|o\d|chatgpt|codex|computer-use", "openai"),
    (r"gemini|gemma", "google"),
    (r"(?:meta-)?llama", "meta-llama"),
    (r"(?:open-)?(?:mi[ns]|minis|magis|codes|devs|maths|leans|mix|pix|vox)tral", "mistralai"),
    (r"deepseek", "deepseek"),
    (r"qwen|qwq", "qwen"),
    (r"grok", "x-ai"),
    (r"kimi", "moonshotai"),
    (r"glm", "z-ai"),
    (r"nemotron", "nvidia"),
    (r"nova|titan", "amazon"),
)
_REGION = r"^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?"
_DEEPSEEK = re.compile(_REGION + r"deepseek\.(?=[rv]\d)")
_DOTTED = re.compile(
    _REGION + r"(?:ai21|amazon|anthropic|cohere|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai"
    r"|qwen|xai|zai)\.(?=[a-z])"
)
"""Region and maker in Bedrock ids, as in `us.anthropic.`; DeepSeek's name is also the maker's name."""

_RELEASE = re.compile(r"(?:-v\d+(?::\d\w*)?|@[\w.-]+|-maas|-latest|-\d+:\d+)$")
_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d\d-\d\d)$")
_SPLIT_NUMBER = re.compile(r"(?<=\d)[p.-](?=\d(?:[-:@]|$))")
_TUNED = re.compile(r"^ft:([^:]+).*$")
_NUMBER_AFTER = re.compile(r"^(llama|qwen)-?v?(?=\d)")


@lru_cache(maxsize=4_096)
def model_ids(model: str) -> tuple[str, ...]:
    """List the ids of a model, from the given id to the plainest.

    Args:
        model: A model's name at any host, in any case.

    Returns:
        Each id once: as given, without its hosts, as `maker/name` in a single spelling and without a host's
        release, and last without its date. Suffixes such as `:free` are part of a name, and stay.
    """
    given = model.strip().lower()
    ids = [given]
    plain = given
    while (host := plain.partition("/"))[1] and host[0] in _HOSTS:
        plain = host[2]
        ids.append(plain)
    own = _own_id(plain)
    return tuple(dict.fromkeys([*ids, own, _DATE.sub("", own)]))


def plain_id(model: str) -> str:
    """Return the id shared by all names of a model: without hosts, releases and dates."""
    return model_ids(model)[-1]


def _own_id(plain: str) -> str:
    maker, _, name = plain.rpartition("/")
    scheme, colon, rest = name.partition(":")
    if colon and scheme in _SCHEMES:
        name = rest
    name = _TUNED.sub(r"\1", name)
    name = _DOTTED.sub("", _DEEPSEEK.sub("deepseek-", name)).removeprefix("databricks-").removeprefix("fw-")
    while (shorter := _RELEASE.sub("", name)) not in ("", name):
        name = shorter
    by_name = next((made_by for pattern, made_by in _MAKERS if re.match(pattern, name)), None)
    name = _SPLIT_NUMBER.sub("-" if by_name == "anthropic" else ".", name)
    name = _NUMBER_AFTER.sub(r"\1-", name.removeprefix("meta-")).replace("gpt-35", "gpt-3.5")
    return f"{by_name or maker}/{name}" if by_name or maker else name
