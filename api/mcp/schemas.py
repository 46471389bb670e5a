"""JSON schemas of tools, written for models: no titles, optional fields not marked as null."""

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
    """Describe a tool's arguments.

    Args:
        model: The tool's argument model.

    Returns:
        A JSON schema of an object.
    """
    return _without_title(model.model_json_schema(schema_generator=_BriefArguments))


def answer_schema(model: type[BaseModel]) -> JsonObject:
    """Describe a tool's answer.

    Args:
        model: The answer model; further fields are allowed.

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
