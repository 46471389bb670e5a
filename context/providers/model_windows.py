"""Names of models, and their windows: advertised, or usual in a session."""

import re
from dataclasses import dataclass
from functools import lru_cache

from context.tokens.budget import LEAST_LASTING

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


def is_bedrock_id(model: str) -> bool:
    """Tell whether a model's name is one of Amazon Bedrock: a region, if any, a maker and a dot."""
    return any(pattern.match(model.lower()) for pattern in (_DOTTED, _DEEPSEEK))


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


_WINDOWS = """
    amazon/nova-lite              300000
    amazon/nova-micro             128000
    amazon/nova-premier          1000000
    amazon/nova-pro               300000
    amazon/nova-2                1000000
    anthropic/claude-             200000
    anthropic/claude-2            100000
    anthropic/claude-2.1          200000
    anthropic/claude-instant      100000
    anthropic/claude-fable-5     1000000
    anthropic/claude-haiku-5     1000000
    anthropic/claude-mythos      1000000
    anthropic/claude-opus-4-6    1000000
    anthropic/claude-opus-4-7    1000000
    anthropic/claude-opus-4-8    1000000
    anthropic/claude-opus-5      1000000
    anthropic/claude-sonnet-4-6  1000000
    anthropic/claude-sonnet-5    1000000
    deepseek/deepseek-chat        131072
    deepseek/deepseek-reasoner    131072
    deepseek/deepseek-v3.1        131072
    deepseek/deepseek-v3.2        131072
    deepseek/deepseek-v4         1000000
    google/gemini-2.0-flash      1048576
    google/gemini-2.5-flash      1048576
    google/gemini-2.5-pro        1048576
    google/gemini-3              1048576
    google/gemini-4              1048576
    google/gemma-2-                 8192
    google/gemma-3-               128000
    meta-llama/llama-3.1-         128000
    meta-llama/llama-3.2-         128000
    meta-llama/llama-3.3-         128000
    mistralai/mistral-7b           32000
    mistralai/mistral-large       128000
    mistralai/mistral-medium      128000
    mistralai/mistral-small        32000
    mistralai/mistral-nemo        128000
    mistralai/open-mistral-nemo   128000
    mistralai/codestral            32000
    mistralai/devstral            128000
    mistralai/mixtral-8x7b         32000
    mistralai/mixtral-8x22b        64000
    mistralai/pixtral             128000
    moonshotai/kimi-k2            131072
    moonshotai/kimi-k2-0905       262144
    moonshotai/kimi-k2-instruct-0905  262144
    moonshotai/kimi-k2-thinking   256000
    moonshotai/kimi-k2.           256000
    openai/chatgpt-4o             128000
    openai/gpt-3.5-turbo           16385
    openai/gpt-3.5-turbo-0613       4096
    openai/gpt-3.5-turbo-instruct   4096
    openai/gpt-4                    8192
    openai/gpt-4-32k               32768
    openai/gpt-4-0125             128000
    openai/gpt-4-1106             128000
    openai/gpt-4-turbo            128000
    openai/gpt-4.1               1047576
    openai/gpt-4.5                128000
    openai/gpt-4o                 128000
    openai/gpt-5                  272000
    openai/gpt-5-chat             128000
    openai/gpt-5.1-chat           128000
    openai/gpt-5.2-chat           128000
    openai/gpt-5.3-chat           128000
    openai/gpt-5.4                922000
    openai/gpt-5.4-mini           272000
    openai/gpt-5.4-nano           272000
    openai/gpt-5.5                922000
    openai/gpt-oss-               128000
    openai/o1                     200000
    openai/o1-mini                128000
    openai/o1-preview             128000
    openai/o3                     200000
    openai/o4-mini                200000
    qwen/qwen-max                  30720
    qwen/qwen-plus                129024
    qwen/qwen-3-                   32768
    qwen/qwen-3-coder             131072
    qwen/qwen-3-max               258048
    qwen/qwen-3.5-                262144
    x-ai/grok-3                   131072
    x-ai/grok-4                   256000
    x-ai/grok-code                256000
    z-ai/glm-4.5                  128000
    z-ai/glm-4.6                  200000
    z-ai/glm-4.7                  200000
    z-ai/glm-5                    200000
"""
"""Id prefix and tokens. If hosts differ, a number accepted by the usual hosts; an imported list is better."""

_BY_PREFIX = {
    prefix: int(tokens) for prefix, tokens in (line.split() for line in _WINDOWS.strip().splitlines())
}


@lru_cache(maxsize=4_096)
def known_window(model: str) -> int | None:
    """Find the window advertised by a model's maker.

    Args:
        model: The model's name at any host.

    Returns:
        Tokens; None if unknown, and for free models: their hosts cut windows freely.
    """
    ids = model_ids(model)
    if any(name.endswith(":free") for name in ids):
        return None
    found = [prefix for prefix in _BY_PREFIX if any(name.startswith(prefix) for name in ids)]
    return _BY_PREFIX[max(found, key=len)] if found else None


NARROW_READS = 3
"""So many requests in a row in smaller windows mean a smaller window for good."""


@dataclass(frozen=True)
class UsualWindow:
    """The window of a session's requests, and the smaller windows of the last requests.

    Attributes:
        tokens: The window for making summaries, > 0; None while nobody named a window.
        narrow_tokens: The largest window of the last requests in a row with smaller windows.
        narrow_reads: The number of such requests, from 0 up to `NARROW_READS` - 1.
    """

    tokens: int | None = None
    narrow_tokens: int | None = None
    narrow_reads: int = 0

    def after(self, named: int) -> "UsualWindow":
        """Take in the window named by a request, in tokens, > 0.

        Returns:
            The new state. A window at least as large as the usual window replaces it at once; after
            `NARROW_READS` smaller windows in a row, their largest becomes the usual window.
        """
        if self.tokens is None or named >= self.tokens:
            return UsualWindow(named)
        narrow, reads = max(self.narrow_tokens or 0, named), self.narrow_reads + 1
        return UsualWindow(narrow) if reads >= NARROW_READS else UsualWindow(self.tokens, narrow, reads)


@dataclass(frozen=True)
class UsualBudget:
    """The budget of a session's requests, and smaller budgets of its last turns.

    Attributes:
        tokens: The budget for making summaries; None while requests may fill their windows.
        narrow_tokens: The largest budget of the last turns in a row with smaller budgets.
        narrow_turns: The number of such turns, from 0 up to `NARROW_READS` - 1.
        narrow_seq: The last message before the newest of these turns.
    """

    tokens: int | None = None
    narrow_tokens: int | None = None
    narrow_turns: int = 0
    narrow_seq: int | None = None

    def holds(self, named: int | None) -> bool:
        """Tell whether a request's budget, in tokens, is the usual one."""
        return named is not None and named == self.tokens

    def after(self, named: int | None, last_seq: int) -> "UsualBudget":
        """Take in the budget of a request; None for a request without one.

        Args:
            named: The budget in tokens, > 0.
            last_seq: The session's last message at the request: all requests of a turn count once.

        Returns:
            The new state. A budget at least as large as the usual one, or none, counts at once; after
            `NARROW_READS` turns in a row with smaller budgets, the largest of these is the usual one.
        """
        if named is None or (self.tokens is not None and named >= self.tokens):
            return UsualBudget(named)
        if named < LEAST_LASTING:
            return self
        narrow, turns = max(self.narrow_tokens or 0, named), self.narrow_turns + (last_seq != self.narrow_seq)
        if turns >= NARROW_READS:
            return UsualBudget(narrow)
        return UsualBudget(self.tokens, narrow, turns, last_seq)


ANY_BUDGET = UsualBudget()
"""No budget: requests may fill their windows."""
