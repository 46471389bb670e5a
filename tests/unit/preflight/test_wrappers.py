"""What a client wraps around a user's words says nothing of what the user asks."""

import pytest

from context.preflight.decide import classify
from context.preflight.followup import without_wrappers

ASKED = "fix the bug in this function and run the tests"
REMINDER = (
    "<system-reminder>\nYour wallet balance and the GPU status were checked.\n"
    "Remember: draw no picture yesterday.\n</system-reminder>"
)
ENVIRONMENT = (
    "<environment_details>\n# Current Time\n2026-02-03\n# Cost\n$0.12 of tokens\n# Search\nWhat is open? a.md"
    "\n</environment_details>"
)
WRAPPERS = {
    "reminder": REMINDER,
    "environment": ENVIRONMENT,
    "selection": "<ide_selection>btc = wallet.balance()</ide_selection>",
    "opened": "<ide_opened_file>photo.png</ide_opened_file>",
    "attributes": '<attached_files count="2" kind="picture">a photo of bitcoin</attached_files>',
    "stdout": "<local-command-stdout>disk usage 93 %, uptime 4 days</local-command-stdout>",
    "memories": "<relevant-memories>you said yesterday that we discussed it</relevant-memories>",
    "camel": "<additionalData>play some music</additionalData>",
    "git": "<git_status>clean; search the docs</git_status>",
    "layout": "<project_layout>songs/ images/ wallet/</project_layout>",
    "result": "<toolResult>gpu status: 93 % of the disk</toolResult>",
    "clock": "<now_utc>bitcoin at 9, draw at 10</now_utc>",
    "linter": "<linter_errors>photo.png: cpu usage, wallet</linter_errors>",
    "profile": "<user_profile>likes music and bitcoin; remember his dog</user_profile>",
    "history": "<chat-history>user: draw a picture of a wallet</chat-history>",
    "mode": "<currentMode>search the web for coins</currentMode>",
    "command": "<command-message>bitcoin is running, music plays</command-message>",
    "hook": "<user-prompt-submit-hook-feedback>bitcoin at 9, draw at 10</user-prompt-submit-hook-feedback>",
    "system": "<system_message>draw a picture of a wallet</system_message>",
    "one word": "<context>the weather in Oslo, bitcoin and music</context>",
    "attached": '<attachments>\n<attachment id="a.py">draw bitcoin</attachment>\n</attachments>',
    "documents": '<documents><document index="1">music of a wallet</document></documents>',
    "runtime": "<RUNTIME_INFORMATION>gpu status: 93 % of the disk</RUNTIME_INFORMATION>",
    "found": "<retrieved_documents>draw a picture of a wallet</retrieved_documents>",
    "tree": "<directory_tree>songs/ images/ wallet/</directory_tree>",
}


@pytest.mark.parametrize("kind", WRAPPERS)
@pytest.mark.parametrize("place", ["before", "behind", "both"])
def test_a_wrapper_decides_no_category(kind: str, place: str) -> None:
    block = WRAPPERS[kind]
    text = {"before": f"{block}\n{ASKED}", "behind": f"{ASKED}\n{block}", "both": f"{block}{ASKED}{block}"}
    plain, wrapped = classify(ASKED), classify(text[place])
    assert (wrapped.categories, wrapped.memory, wrapped.thinking_level) == (
        *(plain.categories, plain.memory, plain.thinking_level),
    )
    assert wrapped.tool_allowlist == plain.tool_allowlist


@pytest.mark.parametrize("name", ["user_query", "user-message", "command-args", "userRequest"])
def test_what_stands_in_a_block_of_the_users_own_counts(name: str) -> None:
    assert without_wrappers(f"<{name}>{ASKED}</{name}>{REMINDER}") == ASKED


@pytest.mark.parametrize(
    "name", ["task", "query", "feedback", "new_task", "message", "latest_user_message", "original-request"]
)
def test_a_block_of_the_users_own_around_all_that_is_left_counts(name: str) -> None:
    block = f"<{name}>\n{ASKED}\n</{name}>"
    assert without_wrappers(block) == ASKED
    assert without_wrappers(f"{block}\n\n{ENVIRONMENT}") == ASKED
    assert without_wrappers(f"{block} and then?") == f"{block} and then?"


def test_a_message_of_wrappers_alone_is_about_nothing_and_all_passes() -> None:
    found = classify(REMINDER, tools=["exec", "read", "web_search"])
    assert (found.categories, found.tool_allowlist) == ((), None)


@pytest.mark.parametrize(
    "text",
    [
        ASKED,
        "<task>fix it</task> is the line of the file",
        "why does <button>Save</button> not work?",
        "<div><span>1 < 2</span></div>",
        f"```html\n{ENVIRONMENT}\n```\nWhy is this block empty?",
        "<system-reminder> that nobody closes",
        "</system-reminder> that nobody opened <system-reminder>",
        "a < b and c > d </",
        "",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert without_wrappers(text) == text


def test_blocks_in_each_other_go_with_the_outer_one() -> None:
    assert without_wrappers(f"<environment_details>{REMINDER}</environment_details> go on") == "go on"
