"""Each session's calls: what the scripted model was asked for it beside what the ledger knows of it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import psycopg

from llm.scripted import Recorded
from llm.scripted.answers import prompt_text

_MARK = re.compile(r"customer \[([^\]]+)\]")


def marked(session_id: str) -> str:
    """Words for every message of a session: by them a prompt tells whose it is."""
    return f"customer [{session_id}]"


def find_uncounted(database_url: str, requests: Sequence[Recorded], sessions: Iterable[str]) -> Iterator[str]:
    """Hold the ledger against the prompts that arrived, for each session.

    A call that never arrived may have a row: none that arrived is without one.

    Args:
        database_url: Asked directly, around all code under test.
        requests: Every request of the run.
        sessions: Whose messages are marked and were not erased.

    Yields:
        A sentence for each session that is wrong.
    """
    told = [set(_MARK.findall(prompt_text(request.body))) for request in requests]
    yield from (f"{sorted(names)}: one prompt holds words of all of them" for names in told if len(names) > 1)
    seen = Counter(name for names in told for name in names)
    query = """
        select session_id, count(*), count(*) filter (where state = 'ok') from llm_call
        where session_id is not null and purpose = 'summarize' group by session_id
    """
    with psycopg.connect(database_url) as db:
        rows = {session_id: (known, answered) for session_id, known, answered in db.execute(query.encode())}
    for session_id in sorted(set(sessions) & seen.keys()):
        known, answered = rows.get(session_id, (0, 0))
        if not answered <= seen[session_id] <= known:
            yield (
                f"{session_id}: the model was asked {seen[session_id]} times, and the ledger knows "
                f"of {known} calls, {answered} of them answered"
            )
