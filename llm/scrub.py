"""A provider's words fit to store: without keys or words of the prompt, and still readable."""

import os
import re
from collections.abc import Iterable
from functools import lru_cache

from context.languages import STOP_WORDS
from context.precompute.prompt import ArtifactInput, artifact_messages
from context.summary.prompt import SummaryInput, summary_messages

_LINES = (
    "about above access account again allowed already and any api are argument array assistant attempt",
    "audio authentication authorized available back bad badrequesterror balance base been before",
    "billing body bytes call can cannot character characters check code completion completions",
    "connection contain contains content context could credit credits data deployment did does down due",
    "each empty end endpoint error errors exceed exceeded exceeds exception exist expected failed field",
    "for format found from function get given got had has have header high host however http image",
    "input insufficient internal internalservererror into invalid its json key large later least length",
    "less like limit limits litellm load long make many match max maximum may message messages model",
    "models more most must name need new none not null number object one only openai openaiexception",
    "organization other our out output overloaded parameter parameters parse please policy prompt",
    "property provided provider quota rate reached read reason received reduce refused request",
    "requested requests required resource response result retry role schema see server service should",
    "size still stop string support supported system temperature text than that the their them then",
    "there this time timeout token tokens too tool tools top try type unable unknown unsupported",
    "upgrade url use used user uses using valid value values was were when which will with would you",
    "your active activate add added admin administrator agree amount anthropic anthropicexception apply",
    "appears appropriate assigned attached attempted authenticationerror azure badly based bedrock being",
    "both browser bytes cache caller calls cause caused check choose city class client close cloud cohere",
    "combined comes configuration configure configured console consider contact containing copy correct",
    "could create created credential credentials current currently dashboard date day days deactivated",
    "deepseek default defined denied deprecated described description details different disabled docs",
    "documentation during either email enable enabled ensure enter environment exactly example exhausted",
    "expired export extra fail fails failure feature fewer file filter find first fix following forbidden",
    "free gateway gemini generate generated generation google greater groq help higher hour hours identity",
    "illegal included including incorrect increase index info information instance instead integer invoke",
    "key keys kind language larger latest learn left level link list loaded location lower made making",
    "malformed manage media memory method middle minute minutes missing mistral mode month moved multiple",
    "names near negative network never next nothing numbers occurred off once online open operation option",
    "optional options order original outside own page paid part pass passed pay payload payment per",
    "permission permissions plan plans platform positive possible previous priority problem process",
    "processed processing production project proper properly providers proxy purchase queue queued range",
    "read ready recent region register remaining remove removed rename replace report reset responded",
    "restricted retrieve retrying return returned review rights run running same scope second seconds",
    "section secret select send sent session set setting settings short shorter single slow small smaller",
    "soon specified specify specifying standard start state status stream structure submitted subscription",
    "such support switch take takes team temporarily temporary text thinking those tier time timed times",
    "together total traffic transient trial tried trying turn types under unauthorized understand",
    "unexpected unsupported until update updated usage user users valid validate validation variable",
    "variables verify version vertex via view vision visit wait website whether while window within without",
    "workload wrong",
)

OF_PROVIDERS = frozenset(word for line in _LINES for word in line.split()) | STOP_WORDS["en"]


MAX_DETAIL_CHARS = 300
_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp|gho|github_pat|glpat|hf|r8|pplx|nvapi|csk|fw|tgp|pat)[-_][\w*.-]{4,}"
    r"|\bAIza[\w*-]{6,}|\bya29\.[\w*.-]{6,}"  # the shapes of the common providers
    r"|\b(?:AKIA|ASIA)[A-Z0-9*]{8,}"
    r"|\beyJ[\w*-]{6,}(?:\.[\w*-]+)*"  # a signed token
    r"|(?<=://)[^\s/@]+:[^\s/@]+(?=@)"  # the name and password of an address
    r"|\b(?:Bearer|Basic)\s+\S+"
    r"|(?:api[-_ ]?key|token|secret|passw(?:or)?d|pwd)\s*[=:]\s*\S+"  # said to be a key
    r"|(?<=[?&])(?:sig|signature|key)=[^\s&]+"
    r"|[A-Za-z0-9+/_-]{32,}={0,2}",  # long and without a space: likely one
    re.IGNORECASE,
)
_ANSWER = re.compile(r"[\"'\\]*failed_generation[\"'\\]*\s*[:=].*", re.DOTALL)
"""A provider's quotation of a model's unusable words."""

_SHORTEST_KEY = 6
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})+")
_SPACE = re.compile(r"\s+")
_SHINGLE = 12
"""Length of a run of characters, also in the prompt, taken for a quotation."""

_LONG = 40
"""Length from which a quotation is hidden even with only providers' common words."""

_WORD = re.compile(r"[^\W_]{3,}")
_NAME = re.compile(r"(?<!\w)\w++")
"""A name in code is a single word: `admin_api_key` says nothing of an admin in the prompt."""

_CODE = re.compile(r"(?<![^\W_])[^\W_]++(?:[-.:#/][^\W_]++)+")
"""An identifier with letters and digits, such as `GW-3`: its parts are too short for words."""


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Shorten an error text to a line without keys and without words of the prompt.

    Args:
        text: Words of the provider or litellm.
        secrets: The prompt's texts and the key.

    Returns:
        At most 300 characters. A provider's own sentence survives, a quotation of the prompt does not.
    """
    text = _ANSWER.sub("[answer]", text)
    line = _SPACE.sub(" ", _ESCAPES.sub("…", text))[: 2 * MAX_DETAIL_CHARS]
    line = _KEY.sub("[key]", line)
    for key in _environment_keys():
        line = line.replace(key, "[key]")
    texts = [_SPACE.sub(" ", secret) for secret in secrets]
    return _without_words(_without_quotations(line, texts), texts)[:MAX_DETAIL_CHARS]


def _environment_keys() -> list[str]:
    return [
        value
        for name, value in os.environ.items()
        if name.endswith("_API_KEY") and len(value) >= _SHORTEST_KEY
    ]


def _without_words(line: str, texts: list[str]) -> str:
    """Hide single words of the prompt, except words used by every provider."""
    said = {word.casefold() for text in texts for word in _WORD.findall(text)} - _harmless()
    codes = {code for text in texts for code in _codes(text)} - _harmless()
    line = _CODE.sub(lambda found: "[prompt]" if found[0].casefold() in codes else found[0], line)
    names = {name.casefold() for text in texts for name in _NAME.findall(text) if "_" in name}
    found_names = (found for found in _NAME.finditer(line) if "_" in found[0])
    own = [found.span() for found in found_names if found[0].casefold() not in names]

    def kept(found: re.Match[str]) -> str:
        word = found[0]
        if any(start <= found.start() and found.end() <= end for start, end in own):
            return word
        unspaced = not word.isascii() and any(word in text for text in texts)  # such as Chinese
        return "[prompt]" if unspaced or word.casefold() in said else word

    return (
        re.sub(r"\[prompt\](?:\s*\[prompt\])+", "[prompt]", _WORD.sub(kept, line)) if said or texts else line
    )


def _codes(text: str) -> set[str]:
    found = (code.casefold() for code in _CODE.findall(text))
    return {code for code in found if any(map(str.isdigit, code)) and any(map(str.isalpha, code))}


@lru_cache
def _harmless() -> frozenset[str]:
    """Return the words that reveal nothing of a prompt: providers' words and our own instructions'."""
    ours = [*summary_messages(SummaryInput((), 1, "en")), *artifact_messages(ArtifactInput("", "", 1))]
    texts = [str(message["content"]) for message in ours]
    words = {word.casefold() for text in texts for word in _WORD.findall(text)}
    words |= {code for text in texts for code in _codes(text)}
    return OF_PROVIDERS | words


def _without_quotations(line: str, secrets: list[str]) -> str:
    hidden = [False] * len(line)
    for start in range(len(line) - _SHINGLE + 1):
        if any(line[start : start + _SHINGLE] in secret for secret in secrets):
            hidden[start : start + _SHINGLE] = [True] * _SHINGLE
    kept = "".join("\0" if hide else char for char, hide in zip(line, hidden, strict=True))
    return re.sub("\0+", lambda run: _unless_harmless(line, *run.span()), kept)


def _unless_harmless(line: str, start: int, end: int) -> str:
    """Keep a few common providers' words in a row; replace anything else by a mark."""
    words = [word for word in re.finditer(r"[^\W_]+", line) if word.start() < end and start < word.end()]
    tells = any(word[0].casefold() not in _harmless() for word in words)
    piece = line[start:end]
    if not tells and words and end - start < _LONG:
        return piece
    before, after = piece[: len(piece) - len(piece.lstrip())], piece[len(piece.rstrip()) :]
    return f"{before}[prompt]{after}" if piece.strip() else "[prompt]"
