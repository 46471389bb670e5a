"""The base of answers, and the options of a route with a described answer."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class ApiAnswer(BaseModel):
    """An answer; a field without a value may be missing where it has a default."""

    model_config = ConfigDict(populate_by_name=True)


def answers(model: type[BaseModel], operation_id: str, summary: str, **also: str) -> dict[str, Any]:
    """Describe the answer of a route.

    Args:
        model: The shape of the answer.
        operation_id: The name of the call in generated clients.
        summary: The call in a few words, beginning with a verb.
        also: Descriptions of other statuses with the same shape, such as `s200`.
    """
    others = {int(status[1:]): {"model": model, "description": said} for status, said in also.items()}
    return {"response_model": model, "operation_id": operation_id, "summary": summary, "responses": others}
