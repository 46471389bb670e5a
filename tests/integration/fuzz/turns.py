"""A grammar of turns in each wire format: roles, parts, parallel calls, large results, forged pointers."""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.integration.fuzz.texts import large, name, pointer, text, value, words

Body = dict[str, Any]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WIRES = ("openai", "openai", "openai", "anthropic", "responses")


@dataclass
class Scribe:
    """Writes messages of one wire format.

    Attributes:
        rng: Where every choice comes from.
        wire: The format.
        artifacts: Ids of artifacts that a forged pointer may name.
        mess: How often something is left out, doubled or moved, 0 to 1.
    """

    rng: Random
    wire: str
    artifacts: list[str] = field(default_factory=list)
    mess: float = 0.15

    def turn(self) -> list[Body]:
        """Write a turn: words of a user, steps of calls and results, an answer. All of it can be stored."""
        rng = self.rng
        messages = [self.user()] if rng.random() < 0.93 else []
        if rng.random() < 0.1:
            messages.insert(0, self.system())
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 4))):
            messages += self.step()
        if rng.random() < 0.9 or not messages:
            messages.append(self.assistant())
        if rng.random() < self.mess:
            self._disturb(messages)
        return messages

    def _disturb(self, messages: list[Body]) -> None:
        """Bring the order out of order, or lose a message: a platform that crashed sends that."""
        drawn = self.rng.randrange(4)
        if drawn == 0:
            self.rng.shuffle(messages)
        elif drawn == 1 and len(messages) > 1:
            del messages[self.rng.randrange(len(messages))]
        elif drawn == 2:
            messages.append(dict(self.rng.choice(messages)))
        else:
            messages += self.results([self.call_id()])

    def call_id(self) -> str:
        """A fresh id of a call; now and then one that occurs again and again."""
        return (
            self.rng.choice(("call_1", "c", "x" * 90))
            if self.rng.random() < 0.05
            else f"call_{name(self.rng)}"
        )

    def step(self) -> list[Body]:
        """Parallel calls and their results, some of which may be missing or in another order."""
        ids = list(dict.fromkeys(self.call_id() for _ in range(self.rng.choice((1, 1, 1, 2, 3, 6)))))
        answered = list(ids)
        if self.rng.random() < self.mess:
            self.rng.shuffle(answered)
        if self.rng.random() < self.mess / 2:
            answered.pop()
        return [*self.calls(ids), *self.results(answered)]

    def system(self) -> Body:
        """An instruction inside a conversation."""
        if self.wire == "openai" and self.rng.random() < 0.3:
            return {"role": "developer", "content": text(self.rng)}
        return {"role": "system", "content": text(self.rng)}

    def user(self) -> Body:
        """Words of a user, perhaps in parts, with pictures."""
        rng = self.rng
        body: Body = {"role": "user", "content": text(rng)}
        if rng.random() < 0.25:
            parts = [self._text_part(text(rng)) for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.6:
                parts.insert(rng.randint(0, len(parts)), self.picture())
            if rng.random() < 0.1:
                parts.append(
                    {"type": rng.choice(("unknown_part", "tool_reference", "")) or "x", **value_object(rng)}
                )
            body["content"] = parts
        if self.wire == "openai" and rng.random() < 0.15:
            body["name"] = rng.choice(("", name(rng), text(rng, 30)))
        return self._with_more(body)

    def assistant(self) -> Body:
        """Words of a model."""
        rng = self.rng
        if self.wire == "openai":
            body: Body = {"role": "assistant", "content": rng.choice((text(rng), text(rng), None))}
            if rng.random() < 0.1:
                body["content"] = [self._text_part(text(rng)), {"type": "refusal", "refusal": words(rng, 40)}]
            if rng.random() < 0.1:
                body["reasoning_content"] = text(rng)
            return self._with_more(body)
        if self.wire == "anthropic":
            blocks: list[Body] = [{"type": "text", "text": text(rng) or "x"}]
            if rng.random() < 0.2:
                blocks.insert(0, {"type": "thinking", "thinking": text(rng), "signature": name(rng)})
            return self._with_more({"role": "assistant", "content": rng.choice((blocks, text(rng) or "x"))})
        if rng.random() < 0.2:
            summary = [{"type": "summary_text", "text": text(rng)}]
            return {"type": "reasoning", "id": f"rs_{name(rng)}", "summary": summary}
        content = [{"type": "output_text", "text": text(rng), "annotations": []}]
        return self._with_more({"type": "message", "role": "assistant", "content": content})

    def calls(self, ids: list[str]) -> list[Body]:
        """Calls of tools by these ids: one message of them all, or an item each."""
        rng = self.rng
        if self.wire == "openai":
            calls = [self._function_call(call_id) for call_id in ids]
            return [{"role": "assistant", "content": rng.choice((None, text(rng))), "tool_calls": calls}]
        if self.wire == "anthropic":
            blocks: list[Body] = [
                {"type": "tool_use", "id": call_id, "name": tool(rng), "input": value_object(rng)}
                for call_id in ids
            ]
            if rng.random() < 0.4:
                blocks.insert(0, {"type": "text", "text": text(rng) or "x"})
            return [{"role": "assistant", "content": blocks}]
        return [
            {"type": "function_call", "call_id": call_id, "name": tool(rng), "arguments": arguments(rng)}
            for call_id in ids
        ]

    def _function_call(self, call_id: str) -> Body:
        if self.rng.random() < 0.1:
            return {
                "id": call_id,
                "type": "custom",
                "custom": {"name": tool(self.rng), "input": text(self.rng)},
            }
        function = {"name": tool(self.rng), "arguments": arguments(self.rng)}
        return {"id": call_id, "type": "function", "function": function}

    def results(self, ids: list[str]) -> list[Body]:
        """What tools answered."""
        if not ids:
            return []
        if self.wire == "openai":
            return [{"role": "tool", "tool_call_id": call_id, "content": self.result()} for call_id in ids]
        if self.wire == "responses":
            return [{"type": "function_call_output", "call_id": i, "output": self.result()} for i in ids]
        blocks = [
            self._with_error({"type": "tool_result", "tool_use_id": i, "content": self.result()}) for i in ids
        ]
        if self.rng.random() < 0.2:
            blocks.append({"type": "text", "text": text(self.rng) or "x"})
        return [{"role": "user", "content": blocks}]

    def _with_error(self, block: Body) -> Body:
        return {**block, "is_error": True} if self.rng.random() < 0.1 else block

    def result(self) -> Any:
        """What one tool answered: short, large, in parts, or as if it were a pointer."""
        rng = self.rng
        drawn = rng.random()
        if drawn < 0.52:
            return text(rng, 200)
        if drawn < 0.6:
            return large(rng)
        if drawn < 0.75:
            return pointer(rng, self.artifacts)
        parts = [
            self._text_part(rng.choice((text(rng, 100), pointer(rng, self.artifacts)))) for _ in range(2)
        ]
        if rng.random() < 0.2:
            parts.append(self._text_part(large(rng)))
        return parts

    def picture(self) -> Body:
        """A picture, inside or by its address; also one that is none."""
        data = self.rng.choice((PIXEL, "", "@@@", "A" * 400))
        url = self.rng.choice(
            (f"data:image/png;base64,{data}", "https://127.0.0.1:1/x.png", "file:///etc/passwd", "")
        )
        if self.wire == "anthropic":
            source = {"type": "base64", "media_type": "image/png", "data": data}
            return {"type": "image", "source": self.rng.choice((source, {"type": "url", "url": url}))}
        if self.wire == "responses":
            return {"type": "input_image", "image_url": url, "detail": "low"}
        detail = self.rng.choice(({"detail": "low"}, {"detail": "high"}, {}))
        return {"type": "image_url", "image_url": {"url": url, **detail}}

    def _text_part(self, words_of_it: str) -> Body:
        return {"type": "input_text" if self.wire == "responses" else "text", "text": words_of_it}

    def _with_more(self, body: Body) -> Body:
        """Fields that nobody knows are kept as they are."""
        if self.rng.random() < 0.08:
            body[f"x_{name(self.rng)}"] = value(self.rng)
        return body


def tool(rng: Random) -> str:
    """The name of a tool, one that turns share with the catalogs and requests."""
    return (
        rng.choice(("search", "read_file", "write_file", "run_tests", "look"))
        if rng.random() < 0.9
        else name(rng)
    )


def arguments(rng: Random) -> str:
    """Arguments as a model writes them: JSON, cut off, or nothing of the kind."""
    drawn = rng.random()
    if drawn < 0.7:
        return f'{{"path": "{rng.choice(("a.py", "b.md", "../c"))}", "n": {rng.randint(0, 9)}}}'
    if drawn < 0.8:
        return json.dumps({rng.choice(("path", "query", "command", name(rng))): value(rng)})
    return rng.choice(("", "{}", "null", '{"path": "a', "[1, 2]", '{"a": NaN}', text(rng, 60), "9" * 400))


def value_object(rng: Random) -> Body:
    """A JSON object of anything."""
    return {name(rng): value(rng, 2) for _ in range(rng.randint(0, 3))}
