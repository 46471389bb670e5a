"""Print the page of the HTTP API, from its OpenAPI document: `python -m docs.site.api_page`."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.app import make_app

METHODS = ("get", "post", "put", "patch", "delete")


def main() -> None:
    """Print the page."""
    print("\n".join(page(make_app().openapi())))


def page(document: Mapping[str, Any]) -> Iterator[str]:
    """Write every call of a document as Markdown, grouped by tag."""
    yield "# HTTP API\n"
    yield (
        "Each call needs `Authorization: Bearer KEY`, except health checks. The service describes the same "
        "calls at `/docs`, with examples, and at `/openapi.json`. Errors are `application/problem+json`.\n"
    )
    tags: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, calls in document["paths"].items():
        for method in METHODS:
            if method in calls:
                tag = (calls[method].get("tags") or ["other"])[0]
                tags.setdefault(tag, []).append((method.upper(), path, calls[method]))
    for tag, found in tags.items():
        yield f"## {tag.capitalize()}\n"
        for method, path, call in found:
            yield from _call(document, method, path, call)


def _call(document: Mapping[str, Any], method: str, path: str, call: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {call.get('summary', call['operationId'])}\n"
    yield f"`{method} {path}`\n"
    if call.get("description"):
        yield call["description"].strip() + "\n"
    rows = [
        (part["name"], part["in"], _kind(part.get("schema", {})), part.get("description", ""))
        for part in call.get("parameters", [])
    ]
    for media in call.get("requestBody", {}).get("content", {}).values():
        body = _resolved(document, media.get("schema", {}))
        needed = set(body.get("required", []))
        for name, schema in body.get("properties", {}).items():
            where = "body, required" if name in needed else "body"
            rows.append((name, where, _kind(schema), schema.get("description", "")))
    if rows:
        yield from ("| name | place | kind | meaning |", "|---|---|---|---|")
        yield from (
            f"| `{name}` | {where} | {_cell(kind)} | {_cell(meaning)} |"
            for name, where, kind, meaning in rows
        )
        yield ""
    answers = "; ".join(
        f"{status} {_cell(answer.get('description', '')).rstrip('.')}"
        for status, answer in call["responses"].items()
    )
    yield f"Answers: {answers}.\n"


def _resolved(document: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found = schema.get("$ref", "").removeprefix("#/components/schemas/")
    return document["components"]["schemas"][found] if found else schema


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = str(schema.get("type", "any"))
    return f"list of {_kind(schema['items'])}" if kind == "array" and "items" in schema else kind


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    main()
