"""The Inspector in a real Chromium: hostile text, keyboard, contrast, a phone, 10,000 messages, each view."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from models import database as session
from models.database import database_now
from models.due_work.queue import WorkKind, enqueue
from models.ledger.call import Reservation, Settlement, reserve
from models.ledger.call import settle as settle_call
from models.ledger.caps import Caps
from models.scope import Scope
from tests.integration.browser.chromium import PATIENT_S, Chromium, Tab
from tests.integration.browser.conftest import Go, say, settle, summarize, text_of
from tests.integration.conftest import make_key
from tests.integration.erasing import tool_turn
from tests.integration.learned import learn_often
from tests.integration.test_artifacts_api import fulfil
from tests.waiting import wait_until

TAKE = "document.title='taken'"
HOSTILE = f'<img src=x onerror="{TAKE}"><script>{TAKE}</script> [1] \u202e &amp; \'"'
WALK = "/session/walk?message=2&versions=1-2"
PLACES = ("/sessions", "/users", WALK, "/usage", "/work", "/catalogs/main?intent=mail")
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


def click(tab: Tab, selector: str, words: str) -> None:
    """Click on the first element that says these words."""
    found = f"[...document.querySelectorAll({json.dumps(selector)})]"
    tab.run(f"{found}.find((one) => one.textContent === {json.dumps(words)}).click()")


def agree(tab: Tab, words: str) -> None:
    """Click on a button of change, and agree to the question."""
    tab.run("document.querySelector('#status').replaceChildren()")
    click(tab, "main button", words)
    tab.wait("document.querySelector('dialog[open]')")
    tab.run("document.querySelector('dialog .danger').click()")
    tab.wait("document.querySelector('#status .done')")


@pytest.fixture
def full(api: httpx2.Client, tenant_id: UUID) -> None:
    """Something to see in every view."""
    say(api, "walk", "Where is the crane?", "And the box?", "When?", "Who?")
    say(api, "hostile", HOSTILE, user_id="<b>anna")
    assert api.post("/v1/sessions/walk/turns", json=tool_turn("with-a-tool", "crane")).status_code == 202
    summarize(tenant_id, "walk", "The crane is in hall 4 [1].\nOld.", "The crane is in hall 4 [1].\nNew [3].")
    tools = [{"name": name, "description": f"Does {name}."} for name in ("mail.send", "read_file")]
    assert api.put("/v1/catalogs/main", json={"tools": tools}).status_code == 200
    learn_often(tenant_id, "main", {"send a mail": "mail.send"})


def test_hostile_text_stays_text_in_every_view(api: httpx2.Client, tenant_id: UUID, go: Go, tab: Tab) -> None:
    say(api, "hostile", HOSTILE, HOSTILE, user_id="<img src=x>")
    summarize(tenant_id, "hostile", f"{HOSTILE}\none", f"{HOSTILE}\ntwo")
    catalog = {"tools": [{"name": "read", "description": HOSTILE}]}
    assert api.put("/v1/catalogs/<b>main", json=catalog).status_code == 200
    talk, tools = "/session/hostile?message=1&versions=1-2", "/catalogs/%3Cb%3Emain?intent=%3Cimg%3E"
    for place in ("/users", "/sessions", talk, tools):
        go(f"#{place}")
        tab.run(OPEN_ALL)
        assert tab.run("document.querySelectorAll('img, iframe, b b, main script').length") == 0
        assert tab.run("document.scripts.length") == 1
        assert "taken" not in tab.run("document.title")
    go("#/session/hostile?message=1")
    assert HOSTILE in tab.run("document.querySelector('#message-1 pre').textContent")
    go("#/session/%3Cimg%20src%3Dx%3E?message=%3Cb%3E&versions=%3Cb%3E")
    assert "No such session" in text_of(tab, "#at-session")
    assert "<img src=x>" in text_of(tab, "#at-session")


def test_the_keyboard_alone_opens_a_session_and_leaves_a_question(full: None, tab: Tab, key: str) -> None:
    del full
    tab.tab_to("#key")
    tab.type(key)
    tab.press("Enter")
    tab.wait("document.querySelector('#at-sessions a')")
    settle(tab)
    tab.tab_to("#at-sessions a[href$=walk]")
    tab.press("Enter")
    tab.wait("location.hash === '#/session/walk'")
    settle(tab)
    tab.tab_to("#at-session button", "Erase")
    tab.press("Enter")
    tab.wait("document.querySelector('dialog[open]')")
    tab.press("Escape")
    tab.wait("!document.querySelector('dialog')")
    assert tab.run("document.activeElement.textContent") == "Erase"
    tab.tab_to("#at-summaries summary")
    tab.press("Enter")
    tab.wait("document.querySelector('#at-summaries details').open")
    tab.tab_to("#at-summaries pre a")
    tab.press("Enter")
    tab.wait("document.activeElement.closest('#message-1')")


CONTRAST = """
(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => one / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const found = rgb(getComputedStyle(one).backgroundColor);
      if (found.length < 4 || found[3] > 0) { return found; }
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const element of document.querySelectorAll("body *")) {
    const said = [...element.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
    const passed = element.matches("option, .unseen, .cut b, :disabled");
    if (!said || passed || !element.checkVisibility()) { continue; }
    const [front, back] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const name = `${element.tagName}.${element.className}`;
    if (ratio < 4.5) { weak.push(`${name} ${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`); }
  }
  return weak;
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_stands_out_from_its_ground(full: None, go: Go, tab: Tab, scheme: str) -> None:
    del full
    tab.scheme(scheme)
    for place in PLACES:
        go(f"#{place}")
        assert tab.run(CONTRAST) == [], place
    go("#/session/nobody")
    assert tab.run(CONTRAST) == []


WIDER = """
[...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility() && !one.closest("pre, .unseen, .cut"))
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .map((one) => `${one.tagName}.${one.className}`)
"""


def test_a_phone_shows_every_view_without_a_step_aside(full: None, go: Go, tab: Tab) -> None:
    del full
    tab.size(390, 844)
    for place in PLACES:
        go(f"#{place}")
        assert tab.run("document.documentElement.scrollWidth") <= 390, place
        assert tab.run(WIDER) == [], place
    go("#/sessions")
    assert tab.run("getComputedStyle(document.querySelector('#at-sessions thead')).display") == "none"
    cell = "document.querySelector('#at-sessions td:nth-child(2)')"
    assert tab.run(f"getComputedStyle({cell}, '::before').content") == '"turns"'


def say_much(api: httpx2.Client, session_id: str) -> None:
    """Store 10,000 messages in 200 turns."""
    for first in range(1, 10_000, 1_000):
        lines = []
        for start in range(first, first + 1_000, 50):
            said = [f"Message {seq}." for seq in range(start, start + 50)]
            roles = ["user", "assistant"] * 25
            messages = [{"role": role, "content": one} for role, one in zip(roles, said, strict=True)]
            lines.append(json.dumps({"session_id": session_id, "turn_id": f"t{start}", "messages": messages}))
        answer = api.post("/v1/turns", content="\n".join(lines))
        assert answer.status_code == 200, answer.text
    assert api.get(f"/v1/sessions/{session_id}").json()["freshness"]["last_seq"] == 10_000


def test_ten_thousand_messages_are_read_a_part_at_a_time(api: httpx2.Client, go: Go, tab: Tab) -> None:
    say_much(api, "long")
    go("#/session/long?message=5001")
    assert text_of(tab, "#message-5001 pre") == "Message 5001."
    assert tab.run("document.activeElement.closest('details').id") == "message-5001"
    box = tab.run("(({ top, bottom }) => [top, bottom])(document.activeElement.getBoundingClientRect())")
    assert 0 <= box[0] < box[1] <= 800

    def is_shown() -> bool:
        tab.run("document.querySelector('#ask').requestSubmit()")
        settle(tab)
        return "messages" in (text_of(tab, "#at-messages") or "")

    wait_until(is_shown, within_s=PATIENT_S, what="the window is read, however busy the database is")
    count = int(text_of(tab, "#at-messages p").split()[0].replace(",", ""))
    assert count > 1_000
    assert tab.run("document.querySelectorAll('*').length") < 3_000
    shown = "document.querySelectorAll('#at-messages details').length"
    before = tab.run(shown)
    tab.run("[...document.querySelectorAll('#at-messages button')].at(-1).click()")
    assert before < tab.run(shown) < 100


def test_an_address_leads_to_its_place_and_holds_no_key(
    full: None, chromium: Chromium, go: Go, tab: Tab, key: str
) -> None:
    del full
    go("#/session/walk?message=3")
    address = tab.run("location.href")
    assert key not in address
    assert tab.run("document.title").startswith("walk")
    other = Tab(chromium, address)
    assert "Give a key" in text_of(other, "#status")
    assert "crane" not in other.run("document.querySelector('main').innerText")
    other.tab_to("#key")
    other.type(key)
    other.press("Enter")
    other.wait("document.querySelector('#message-3')")
    assert other.run("location.href") == address
    other.run("document.querySelector('#forget').click()")
    assert "crane" not in other.run("document.querySelector('main').innerText")
    assert other.run("sessionStorage.getItem('afterturn-key')") is None
    other.close()


def test_a_citation_leads_to_its_message_and_versions_stand_side_by_side(
    full: None, go: Go, tab: Tab
) -> None:
    del full
    go("#/session/walk")
    tab.run(OPEN_ALL)
    click(tab, "#at-summaries pre a", "3")
    tab.wait("document.activeElement.closest('#message-3')")
    assert text_of(tab, "#message-3 pre") == "And the box?"
    tab.run("document.querySelector('#at-summaries form').requestSubmit()")
    tab.wait("document.querySelector('.diff')")
    cells = "[...document.querySelectorAll('.diff td')].map((one) => [one.className, one.innerText.trim()])"
    said = [(name, words.lstrip("\u2212+ \t")) for name, words in tab.run(cells)]
    assert said == [
        ("", "The crane is in hall 4 [1]."),
        ("twice", "The crane is in hall 4 [1]."),
        ("gone", "Old."),
        ("come", "New [3]."),
    ]


def test_an_answer_is_saved_as_json(full: None, go: Go, tab: Tab, chromium: Chromium, tmp_path: Path) -> None:
    del full
    go("#/session/walk")
    folder = {"behavior": "allow", "downloadPath": str(tmp_path)}
    chromium.call("Browser.setDownloadBehavior", browserContextId=tab.context, **folder)
    tab.run("[...document.querySelectorAll('#at-summaries button')].at(-1).click()")
    saved = tmp_path / "summaries.json"
    is_saved = lambda: saved.exists() and saved.read_text().endswith("}")  # noqa: E731
    wait_until(is_saved, within_s=30, what="a file is saved")
    assert [one["version"] for one in json.loads(saved.read_text())["summaries"]] == [2, 1]


def test_a_theme_is_chosen_and_kept(go: Go, tab: Tab) -> None:
    tab.scheme("light")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = tab.run(ground)
    tab.run("document.querySelector('#theme').value = 'dark'")
    tab.run("document.querySelector('#theme').dispatchEvent(new Event('change'))")
    assert tab.run(ground) != before
    go("#/users")
    assert tab.run(ground) != before


def buttons(tab: Tab) -> Any:
    found: Any = tab.run("[...document.querySelectorAll('main button.small')].map((one) => one.textContent)")
    return set(found) - {"JSON", "Open all"}


def test_a_key_that_reads_is_shown_no_button_that_changes(
    full: None, tenant_id: UUID, go: Go, tab: Tab
) -> None:
    del full
    go("#/session/walk", make_key(tenant_id, "read"))
    assert buttons(tab) == set()
    assert "may read" in text_of(tab, "#who")


def test_an_erasure_wants_the_id_typed_and_shows_its_receipt(
    full: None, api: httpx2.Client, go: Go, tab: Tab
) -> None:
    del full
    go("#/session/walk")
    assert buttons(tab) == {"Reset", "Erase", "Put in force", "Erase this message"}
    click(tab, "button", "Erase")
    tab.wait("document.querySelector('dialog[open]')")
    assert tab.run("document.querySelector('dialog .danger').disabled")
    tab.run("document.querySelector('dialog input').focus()")
    tab.type("wal")
    assert tab.run("document.querySelector('dialog .danger').disabled")
    tab.type("k")
    tab.run("document.querySelector('dialog .danger').click()")
    tab.wait("document.querySelector('#status .done')")
    assert "message" in text_of(tab, "#status")
    assert "No such session" in text_of(tab, "#at-session")
    assert api.get("/v1/sessions/walk").status_code == 404


def test_a_session_is_reset_after_a_question(full: None, api: httpx2.Client, go: Go, tab: Tab) -> None:
    del full
    go("#/session/walk")
    click(tab, "#at-session button", "Reset")
    tab.wait("document.querySelector('dialog[open]')")
    before = api.get("/v1/sessions/walk").json()
    assert before["tokens"]["history"] > 0
    tab.run("document.querySelector('dialog .danger').click()")
    tab.wait("document.querySelector('#status .done')")
    settle(tab)
    after = api.get("/v1/sessions/walk").json()
    assert (after["generation"], after["tokens"]["history"]) == (before["generation"] + 1, 0)
    assert f"{after['generation']}, after a reset" in text_of(tab, "#at-session")


def test_an_artifact_stands_with_its_summaries_by_focus_and_leads_to_its_message(
    full: None, api: httpx2.Client, tenant_id: UUID, go: Go, tab: Tab
) -> None:
    del full
    (artifact,) = api.get("/v1/sessions/walk/artifacts").json()["artifacts"]
    identity = artifact["artifact_id"]
    for focus in ("Why did it stop?", ""):
        wanted = api.put(f"/v1/artifacts/{identity}/summaries", json={"focus": focus})
        assert wanted.status_code == 202, wanted.text
    fulfil(tenant_id, identity, "It stopped because of the wind.")
    assert api.put(f"/v1/artifacts/{identity}/summaries", json={"focus": "Who pays?"}).status_code == 202
    go("#/session/walk")
    tab.run(OPEN_ALL)
    shown = text_of(tab, "#at-artifacts")
    assert "3 summaries" in shown
    for said in ("For \u201cWhy did it stop?\u201d", "In general", "It stopped because of the wind."):
        assert said in shown, said
    assert shown.count("It is not made yet.") == 1
    tab.run("document.querySelector('#at-artifacts a').click()")
    tab.wait(f"document.activeElement.closest('#message-{artifact['last_seq']}')")


def test_a_version_is_put_in_force_after_a_question(full: None, api: httpx2.Client, go: Go, tab: Tab) -> None:
    del full
    go("#/session/walk")
    tab.run(OPEN_ALL)
    click(tab, "button", "Put in force")
    tab.wait("document.querySelector('dialog[open]')")
    assert api.get("/v1/sessions/walk/summaries").json()["summaries"][0]["state"] == "active"
    tab.run("document.querySelector('dialog .danger').click()")
    tab.wait("document.querySelector('#status .done')")
    found = api.get("/v1/sessions/walk/summaries").json()["summaries"]
    assert [one["version"] for one in found if one["state"] == "active"] == [1]


def test_priors_are_rolled_back_after_a_question_by_a_key_that_may(
    full: None, tenant_id: UUID, api: httpx2.Client, go: Go, tab: Tab
) -> None:
    del full
    go("#/catalogs/main", make_key(tenant_id, "read", "write"))
    assert buttons(tab) == set()
    go("#/catalogs/main")
    click(tab, "button", "Roll back")
    tab.wait("document.querySelector('dialog[open]')")
    (found,) = api.get("/v1/catalogs/main/priors").json()["sets"]
    assert found["state"] == "active"
    tab.run("document.querySelector('dialog .danger').click()")
    tab.wait("document.querySelector('#status .done')")
    (found,) = api.get("/v1/catalogs/main/priors").json()["sets"]
    assert found["state"] == "rejected"
    assert "taken out of force over HTTP by key" in text_of(tab, "#at-priors")
    assert buttons(tab) == {"Serve to a share", "Set the share"}


def test_a_canary_is_shown_and_stopped_after_a_question(
    full: None, tenant_id: UUID, api: httpx2.Client, go: Go, tab: Tab
) -> None:
    del full
    learn_often(tenant_id, "main", {"send a mail": "mail.send"})
    wanted = {"version": 1, "share": 0.25}
    assert api.post("/v1/catalogs/main/priors/canary", json=wanted).status_code == 200
    go("#/catalogs/main")
    assert buttons(tab) == {"Roll back", "Stop the canary", "Set the share"}
    assert "25 % of sessions, until " in text_of(tab, "#at-priors")
    assert "unknown of 0 plans went well, beside unknown of 0 under set 2" in text_of(tab, "#at-priors")
    click(tab, "button", "Stop the canary")
    tab.wait("document.querySelector('dialog[open]')")
    tab.run("document.querySelector('dialog .danger').click()")
    tab.wait("document.querySelector('#status .done')")
    found = api.get("/v1/catalogs/main/priors").json()["sets"]
    assert [one["state"] for one in found] == ["active", "rejected"]
    assert buttons(tab) == {"Roll back", "Serve to a share", "Set the share"}


def test_a_set_is_served_to_a_share_and_later_nights_have_their_share(
    full: None, tenant_id: UUID, api: httpx2.Client, go: Go, tab: Tab
) -> None:
    del full
    learn_often(tenant_id, "main", {"send a mail": "mail.send"})
    go("#/catalogs/main")
    assert "takes force at once: the share of the installation is 0" in text_of(tab, "#at-share")
    tab.run("document.querySelector('#at-priors input').value = 20")
    agree(tab, "Serve to a share")
    served = api.get("/v1/catalogs/main/priors").json()["sets"][-1]
    assert (served["version"], served["state"], served["canary"]["share"]) == (1, "canary", 0.2)
    assert tab.run("[...document.querySelectorAll('#at-priors .chip')].every((one) => one.offsetHeight < 30)")
    tab.run("document.querySelector('#at-share input').value = 0")
    agree(tab, "Set the share")
    assert api.get("/v1/canary-share").json() == {"share": 0, "source": "tenant"}
    assert "takes force at once: the share of this tenant is 0" in text_of(tab, "#at-share")
    tab.run("document.querySelector('#at-share input').value = 35")
    agree(tab, "Set the share")
    assert "is served to 35 % of sessions first: the share of this tenant" in text_of(tab, "#at-share")
    go("#/catalogs/main", make_key(tenant_id, "read", "write"))
    assert buttons(tab) == set()


def test_a_wrong_key_is_told_in_words_and_so_is_a_stray_character(go: Go, tab: Tab) -> None:
    go("#/sessions", "aft_000000000000_wrong")
    assert "Unauthorized" in text_of(tab, "#status") or "key" in text_of(tab, "#status")
    go("#/sessions", "k\u00e9y")
    assert "Not a key" in text_of(tab, "#status")


def test_an_id_that_cannot_be_is_told_in_words(go: Go, tab: Tab) -> None:
    go("#/session/%2F")
    assert "slash" in text_of(tab, "#at-session")


def test_a_request_is_shown_as_it_was_served_and_leads_to_its_messages(
    full: None, keep_windows: None, api: httpx2.Client, go: Go, tab: Tab
) -> None:
    del full, keep_windows
    said = [{"role": "user", "content": "Where is the crane now?"}]
    asked = {"model": "gpt-4o", "context_window": 16_000, "max_tokens": 500, "messages": said}
    assert api.post("/v1/sessions/walk/context", json=asked).status_code == 200
    say(api, "walk", "Something later.", first=9)
    go("#/session/walk")
    tab.wait("document.querySelector('#at-served a')")
    tab.run("document.querySelector('#at-served a').click()")
    tab.wait("document.querySelector('#at-window .bar')")
    settle(tab)
    tab.run(OPEN_ALL)
    shown = text_of(tab, "#at-window")
    assert "Where is the crane now?" in shown
    assert "Something later." not in shown
    click(tab, "#at-window a", "Message 5, as it was stored")
    tab.wait("document.activeElement.closest('#message-5')")
    assert text_of(tab, "#message-5 pre") == "When?"


def test_users_lead_to_their_sessions_and_a_search_is_an_address(full: None, go: Go, tab: Tab) -> None:
    del full
    go("#/users")
    tab.run("document.querySelector('#at-users tbody tr:last-child a').click()")
    settle(tab)
    assert tab.run("location.hash") == "#/sessions?user=anna"
    assert tab.run("[...document.querySelectorAll('#at-sessions a')].map((one) => one.innerText)") == ["walk"]
    tab.run("document.querySelector('#view-sessions [data-how=user]').value = ''")
    tab.run("document.querySelector('#view-sessions [data-how=prefix]').value = 'host'")
    tab.run("document.querySelector('#view-sessions form').requestSubmit()")
    tab.wait("location.hash === '#/sessions?prefix=host'")
    settle(tab)
    assert text_of(tab, "#at-sessions td") == "hostile"


def test_usage_work_and_priors_are_told_in_figures(
    full: None, tenant_id: UUID, api: httpx2.Client, go: Go, tab: Tab
) -> None:
    del full
    with session.transaction() as db:
        scope = Scope(db, tenant_id)
        now = database_now(db)
        call_id = reserve(db, Reservation(tenant_id, "summarize", "m", 100, Decimal(1)), caps=Caps(), now=now)
        end = Settlement(0.1, input_tokens=70, output_tokens=30, price_usd=Decimal("0.25"))
        settle_call(scope, call_id, end, now=now)
        enqueue(scope, WorkKind.SUMMARIZE, "walk")
    go("#/usage")
    tokens, price = tab.run("[...document.querySelectorAll('.days')].map((one) => one.ariaLabel)")
    assert "100 tokens" in tokens
    assert "$0.25" in price
    go("#/work")
    assert "summarize" in text_of(tab, "#at-work tbody")
    assert tab.run("[...document.querySelectorAll('#at-work a')].map((one) => one.innerText)") == ["walk"]
    go("#/catalogs/main?intent=send%20a%20mail")
    assert text_of(tab, "#at-rank tbody td:nth-child(2)") == "mail.send"
    assert "Set 1 of priors" in text_of(tab, "#at-rank")
    assert "active" in text_of(tab, "#at-priors")
    del api


USED = {
    "tell the crew": "mail.send",
    "open the report": "read_file",
    "some music": "play.song",
    "get me to Rome": "find.flight",
    "remember it": "make.note",
    "a place to meet": "book.room",
}


def test_a_ranking_shows_the_tools_that_priors_moved(
    api: httpx2.Client, tenant_id: UUID, go: Go, tab: Tab
) -> None:
    tools = [{"name": name, "description": f"Does {name}."} for name in USED.values()]
    assert api.put("/v1/catalogs/main", json={"tools": tools}).status_code == 200
    learn_often(tenant_id, "main", USED)
    go("#/catalogs/main?intent=tell%20the%20crew%20what%20to%20read")
    cells = "[...row.cells].map((one) => one.innerText)"
    rows = tab.run(f"[...document.querySelectorAll('#at-rank tbody tr')].map((row) => {cells})")
    moved = {row[1]: (row[0], row[5], row[6]) for row in rows}
    assert (moved["mail.send"], moved["read_file"]) == (("1", "3", "up 2"), ("2", "1", "down 1"))
    assert "It moved 3 of " in text_of(tab, "#at-rank")
