"""JSON schemas of tools, written for models: no titles, and what may be left out is not called null."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from context.types import JsonObject


class _Brief(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False


class _BriefArguments(_Brief):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def arguments_schema(model: type[BaseModel]) -> JsonObject:
    """Describe what a tool takes.

    Args:
        model: What reads its arguments.

    Returns:
        A JSON schema of an object.
    """
    return _without_title(model.model_json_schema(schema_generator=_BriefArguments))


def answer_schema(model: type[BaseModel]) -> JsonObject:
    """Describe what a tool answers.

    Args:
        model: The answer; members that it does not name are allowed.

    Returns:
        A JSON schema of an object.
    """
    return _without_title(model.model_json_schema(schema_generator=_Brief, mode="serialization"))


def _without_title(schema: JsonObject) -> JsonObject:
    schema.pop("title", None)
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)
    schema.pop("description", None)
    return schema
