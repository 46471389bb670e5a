"""Error texts lose keys and words of users before anybody stores them."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.summary.prompt import SummaryInput, summary_messages
from llm.scrub import MAX_DETAIL_CHARS, OF_PROVIDERS, scrub
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.linear.texts import QUICK_SHAPES, Shape

PROMPT = "Tell nobody that the vault code of Ana Souza is 4711-0815."


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abc123def456.",
        "Authorization: Bearer abc.def.ghi",
        "invalid x-api-key: api_key=supersecret",
        "key AIzaSyA1234567890 is not valid",
        "token: deadbeefdeadbeefdeadbeefdeadbeef",
    ],
)
def test_a_key_does_not_survive(text: str) -> None:
    left = scrub(text, [])
    for secret in ("abc123def456", "abc.def.ghi", "supersecret", "1234567890", "deadbeef"):
        assert secret not in left


@pytest.mark.parametrize(
    ("text", "secret", "readable"),
    [
        (
            "AKIA" + "IOSFODNN7EXAMPLE is not authorized to invoke it",
            "IOSFODNN7",
            "is not authorized to invoke it",
        ),
        ("eyJ" + "hbGciOiJI.eyJzdWIi.abcDEF_1 has expired", "eyJzdWIi", "has expired"),
        ("https://user:" + "pa55w0rd@host/v1 refused it", "pa55w0rd", "@host/v1 refused it"),
        ("GET https://host/v1?key=zzz9&alt=json failed", "zzz9", "&alt=json failed"),
        ("hf" + "_abcDEF12 is not valid", "abcDEF12", "is not valid"),
        ("github" + "_pat_11ABC22 is not valid", "11ABC22", "is not valid"),
        ("password=hunter2 is wrong", "hunter2", "is wrong"),
    ],
)
def test_keys_of_other_shapes_do_not_survive_and_the_rest_does(text: str, secret: str, readable: str) -> None:
    left = scrub(text, [])
    assert secret not in left
    assert readable in left


def test_a_field_that_is_named_like_a_key_stays_readable() -> None:
    text = "messages.1.content.0.thinking.signature: Field required"
    assert scrub(text, [PROMPT]) == text


@pytest.mark.parametrize("code", ["GW-3", "K-12", "a1.b", "R2:D2", "#7b/x9", "gw-3"])
def test_a_short_identifier_of_the_prompt_does_not_survive(code: str) -> None:
    left = scrub(f"error near {code}: bad request", [f"Never restart {code} today."])
    assert code.strip("#") not in left
    assert left.startswith("error near ")
    assert left.endswith(": bad request")


def test_identifiers_that_the_prompt_does_not_name_stay() -> None:
    text = "messages.1: use gpt-4o-mini, at most 8.192 tokens since 2024-01-01"
    assert scrub(text, ["Never restart GW-3 on 2024-01-01."]).startswith(
        "messages.1: use gpt-4o-mini, at most 8."
    )


def test_words_around_a_quotation_keep_their_spaces() -> None:
    assert scrub("refused for depot Rotterdam in it", ["the depot Rotterdam in Holland"]) == (
        "refused for [prompt] it"
    )


@pytest.mark.parametrize("shape", [Shape("a"), Shape("a-"), Shape("a_"), Shape("é"), *QUICK_SHAPES])
def test_a_long_prompt_takes_time_in_proportion_to_its_length(shape: Shape) -> None:
    assert grows_in_proportion(lambda prompt: scrub("refused: bad words", [prompt]), shape.text)
    assert grows_in_proportion(lambda text: scrub(text, [PROMPT]), shape.text)


def test_a_key_of_the_environment_does_not_survive_whatever_its_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plain words")
    assert "plain" not in scrub("refused: plain words", [])


def test_the_providers_own_sentence_survives() -> None:
    sentence = "The model `gpt-9` does not exist or you do not have access to it."
    assert scrub(sentence, [PROMPT]) == sentence


def test_a_quotation_of_the_prompt_becomes_a_mark() -> None:
    left = scrub(f"could not parse: {PROMPT} (400)", [PROMPT])
    assert left == "could not parse: [prompt] (400)"


@pytest.mark.parametrize(
    "text",
    [
        'no JSON {"error":{"code":"json_validate_failed","failed_generation":"Zanzibar was\nfine"}}',
        "{'failed_generation': 'Zanzibar'}",
        '"{\\"failed_generation\\": \\"Zanzibar\\"}"',
    ],
)
def test_a_quotation_of_the_answer_does_not_survive(text: str) -> None:
    left = scrub(text, [PROMPT])
    assert "Zanzibar" not in left
    assert "[answer]" in left


def test_a_quotation_escaped_as_json_does_not_survive() -> None:
    prompt = "Код от сейфа знает только Анна, и больше никто."
    assert "Анна" not in scrub(f"bad message {json.dumps(prompt)}", [prompt])
    assert "\\u" not in scrub(f"bad message {json.dumps(prompt)}", [prompt])


def test_a_quotation_with_other_line_breaks_does_not_survive() -> None:
    prompt = "the first secret line\nand the second secret line"
    assert "secret" not in scrub("bad: the first secret line and the second secret line", [prompt])


@given(st.text(min_size=12, max_size=80), st.text(max_size=400))
def test_no_run_of_the_prompt_survives(prompt: str, around: str) -> None:
    secret = " ".join(prompt.split())
    left = scrub(f"{around}{prompt}", [prompt])
    tells = any(word.casefold() not in OF_PROVIDERS for word in re.findall(r"[^\W_]+", secret))
    if len(secret) >= 12 and tells and "[prompt]" not in secret and "[key]" not in secret:
        assert not any(secret[at : at + 12] in left for at in range(len(secret) - 11))


@pytest.mark.parametrize("quoted", ["vault", "'Souza'", "vault code", "4711-0815", "VAULT"])
def test_a_single_word_of_the_prompt_does_not_survive(quoted: str) -> None:
    left = scrub(f"Invalid value for the message: {quoted}.", [PROMPT])
    assert left.startswith("Invalid value for the message: ")
    assert not any(word in left.casefold() for word in ("vault", "souza", "4711", "0815"))


def test_a_short_quotation_without_spaces_between_words_does_not_survive() -> None:
    prompt = "金庫の暗証番号はアナだけが知っている"
    assert "暗証番号" not in scrub("invalid message 暗証番号", [prompt])


def test_the_words_of_providers_survive_in_a_prompt_that_has_them() -> None:
    sentence = "This model's maximum context length is 8192 tokens, however you requested 9001 tokens."
    assert (
        scrub(sentence, ["Is 100 the maximum? What length has a context, however long, in tokens?"])
        == sentence
    )


MISSING = (
    "AuthenticationError: OpenAIException - Missing credentials. Please pass an `api_key`, "
    "`workload_identity`, `admin_api_key`, or set the `OPENAI_API_KEY` or `OPENAI_ADMIN_KEY` environment "
    "variable."
)
OWN_SENTENCES = [
    MISSING,
    "Please check an `api_key`",
    "You exceeded your current quota, please check your plan and billing details.",
    "Rate limit reached for gpt-4o in organization on tokens per min. Please try again in 6 s.",
    "The server had an error while processing your request. Sorry about that!",
    "Invalid schema for response_format: missing required field `steps`.",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
    "This model is currently overloaded. Please wait a few seconds and retry.",
]
CHATTY = (
    "Please pass the admin this: missing credentials, check an api key, the identity of the workload, and "
    "please check your plan and set the environment variable. Write the notes; the current quota is fine."
)


@pytest.mark.parametrize("sentence", OWN_SENTENCES)
def test_a_providers_sentence_stays_readable_whatever_the_prompt_talks_of(sentence: str) -> None:
    left = scrub(sentence, [CHATTY])
    assert left == sentence[:MAX_DETAIL_CHARS]


def test_our_own_instructions_hide_nothing_of_a_providers_sentence() -> None:
    """A prompt is mostly our own text, which is no secret."""
    instructions = "\n".join(str(m["content"]) for m in summary_messages(SummaryInput((), 100, "en")))
    assert scrub(MISSING, [instructions, PROMPT]) == MISSING[:MAX_DETAIL_CHARS]


def test_a_name_of_code_is_hidden_where_the_prompt_has_it() -> None:
    assert "vault_code" not in scrub("unknown parameter `vault_code`", ["Set vault_code to 5."])
    assert scrub("unknown parameter `vault_key`", ["Set vault_code to 5."]) == "unknown parameter `vault_key`"


def test_a_long_quotation_is_hidden_although_all_its_words_are_providers_own() -> None:
    said = "please check the plan and the current access to your account and try again in a minute"
    assert "account" not in scrub(f"invalid message: {said}", [said])


def test_a_short_quotation_with_one_telling_word_is_hidden_whole() -> None:
    assert scrub("bad: please check Ana Souza now", ["please check Ana Souza now"]) == "bad: [prompt]"


WORDS = st.text(st.sampled_from("bdfgkmpvz"), min_size=3, max_size=9)


@given(st.lists(WORDS, min_size=1, max_size=8), WORDS)
def test_no_word_of_the_prompt_survives(words: list[str], other: str) -> None:
    left = scrub(f"unsupported: {words[0]}, {other}", [" ".join(words)]).replace("[prompt]", "")
    assert not set(words) & set(left.replace(",", "").split())


@given(st.text(max_size=2000))
def test_what_is_left_is_one_short_line(text: str) -> None:
    left = scrub(text, [])
    assert len(left) <= MAX_DETAIL_CHARS
    assert "\n" not in left
