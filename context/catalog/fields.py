"""Reader of an entry's fields in any known shape, with a check of each field's type."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from context.errors import InvalidInputError
from context.types import JsonObject

_HOLDERS = ("function", "metadata")
"""Keys of nested objects with an entry's fields."""


class Fields:
    """Reader of an entry; an error names the invalid field."""

    def __init__(self, place: str, item: object) -> None:
        """Open an entry.

        Args:
            place: The entry's place in the document, as in `tools[3]`.
            item: The value as sent.

        Raises:
            InvalidInputError: The item is not an object.
        """
        self.place = place
        if not isinstance(item, Mapping):
            raise InvalidInputError(place, "must be an object")
        self._holders: list[tuple[str, Mapping[str, Any]]] = [
            (f"{place}.{key}", item[key]) for key in _HOLDERS if isinstance(item.get(key), Mapping)
        ]
        own = {
            key: value for key, value in item.items() if not isinstance(value, Mapping) or key not in _HOLDERS
        }
        self._holders.insert(0, (place, own))

    def name(self, keys: Sequence[str], limit_chars: int) -> str:
        """Read the entry's name from the first field present.

        Raises:
            InvalidInputError: No field is present, or the name is empty, too long, or contains control
                characters.
        """
        found = [each for each in map(self._find_in_order, keys) if each is not None]
        field, value = found[0] if found else (f"{self.place}.{keys[0]}", None)
        if value is None:
            raise InvalidInputError(field, "is missing")
        if not isinstance(value, str) or not value.strip() or len(value) > limit_chars:
            raise InvalidInputError(
                field, f"must be a text of 1 to {limit_chars} characters", limit=limit_chars
            )
        if any(character < " " or character == "\x7f" for character in value):
            raise InvalidInputError(field, "holds a control character")
        return value

    def text(self, keys: Sequence[str], limit_chars: int | None = None) -> str:
        """Read a text, "" if missing; a list of texts is joined.

        Raises:
            InvalidInputError: The value is not a text, or too long.
        """
        field, value = self._find(keys)
        if value is None:
            return ""
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            value = "\n".join(value)
        if not isinstance(value, str):
            raise InvalidInputError(field, "must be a text")
        if limit_chars is not None and len(value) > limit_chars:
            raise InvalidInputError(field, f"is longer than {limit_chars} characters", limit=limit_chars)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Read a list of texts; a single text becomes a list."""
        field, value = self._find((key,))
        if value is None or value == "":
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidInputError(field, "must be a list of texts")
        return tuple(value)

    def schema(self, keys: Sequence[str]) -> JsonObject | tuple[str, ...] | None:
        """Read a schema, or a list of field names in place of a schema."""
        field, value = self._find(keys)
        if value is None or isinstance(value, dict):
            return value or None
        if not isinstance(value, list):
            raise InvalidInputError(field, "must be a JSON schema or a list of names")
        if value and all(isinstance(each, Mapping) for each in value):
            return _schema_of_parameters(field, value)
        if not all(isinstance(each, str) for each in value):
            raise InvalidInputError(field, "must be a list of names, or of objects with a `name`")
        return tuple(value) or None

    def steps(self) -> tuple[JsonObject, ...]:
        """Read a pipeline's steps; a bare name becomes an object."""
        field, value = self._find(("steps",))
        if value is None:
            return ()
        if not isinstance(value, list):
            raise InvalidInputError(field, "must be a list of steps")
        steps = tuple({"name": step} if isinstance(step, str) else step for step in value)
        for number, step in enumerate(steps):
            if not isinstance(step, dict):
                raise InvalidInputError(f"{field}[{number}]", "must be an object or a name")
        return steps

    def beyond(self, known: Collection[str]) -> JsonObject:
        """Return all unknown fields as sent; the entry's own fields win over nested ones."""
        found: JsonObject = {}
        for _, holder in reversed(self._holders):
            found.update({key: value for key, value in holder.items() if key not in known})
        return found

    def _find(self, keys: Sequence[str]) -> tuple[str, Any]:
        found = [each for each in map(self._find_in_order, keys) if each is not None]
        return found[0] if found else (f"{self.place}.{keys[0]}", None)

    def _find_in_order(self, key: str) -> tuple[str, Any] | None:
        return next(
            (
                (f"{place}.{key}", holder[key])
                for place, holder in self._holders
                if holder.get(key) is not None
            ),
            None,
        )


def _schema_of_parameters(field: str, parameters: Sequence[Mapping[str, Any]]) -> JsonObject:
    """Convert a list of named parameters to the equivalent JSON schema."""
    properties = {}
    for number, parameter in enumerate(parameters):
        if not isinstance(parameter.get("name"), str):
            raise InvalidInputError(f"{field}[{number}].name", "is missing")
        properties[parameter["name"]] = {
            key: value for key, value in parameter.items() if key not in {"name", "required"}
        }
    required = [each["name"] for each in parameters if each.get("required") is True]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}
