"""Guards of the pure functions: what a summary must be, what a window holds, what is learned."""

from tests.acceptance.faults.guards.guard import Guard

GUARDS = (
    Guard(
        "gate: nothing empty, refused or cut off",
        "context/summary/gate.py",
        "reply.fault), Fault(reply.fault) if reply.fault else None)",
        "reply.fault), None)",
        ("tests/unit/summary/test_gate.py",),
    ),
    Guard(
        "gate: languages",
        "context/summary/gate.py",
        "Fault.WRONG_LANGUAGE if present < settings.min_language_share else None",
        "None",
        ("tests/unit/summary/test_gate.py",),
    ),
    Guard(
        "gate: identifiers",
        "context/summary/gate.py",
        "Fault.IDENTIFIERS_LOST if is_poor else None",
        "None",
        ("tests/unit/summary/test_gate.py",),
    ),
    Guard(
        "window: one contiguous tail",
        "context/window/raw_turns.py",
        "            if taken is None:\n                break\n",
        "            if taken is None:\n                continue\n",
        ("tests/unit/window/test_assemble.py",),
    ),
    Guard(
        "window: pairs are whole",
        "context/conversation/tool_calls.py",
        "        if index not in rests:\n            kept.append(message)\n            continue\n",
        "        if True:\n            kept.append(message)\n            continue\n",
        ("tests/unit/conversation/test_tool_pairs.py",),
    ),
    Guard(
        "tools of the tail are pinned",
        "context/preflight/choose_tools.py",
        "needed.update(pinned)",
        "needed.update(())",
        ("tests/unit/preflight",),
    ),
    Guard(
        "focus: near enough",
        "context/focus/similarity.py",
        "NEAR_THRESHOLD = 0.7",
        "NEAR_THRESHOLD = 0.1",
        ("tests/unit/focus",),
    ),
    Guard(
        "learning: better than words",
        "context/priors/evaluate.py",
        "if candidate.score <= lexical.score + LEAST_GAIN:",
        "if candidate.score < 0:",
        ("tests/unit/priors/test_evaluate.py",),
    ),
    Guard(
        "door: no NUL",
        "context/text/sanitize.py",
        'text.replace("\\0", "").encode',
        "text.encode",
        ("tests/unit/text/test_sanitize.py",),
    ),
    Guard(
        "prompts: tags are escaped",
        "context/summary/prompt.py",
        'return f"<{tag}>\\n{escape_tags(text)}\\n</{tag}>"',
        'return f"<{tag}>\\n{text}\\n</{tag}>"',
        ("tests/unit/summary/test_prompt.py",),
    ),
)
