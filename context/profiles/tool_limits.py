"""How many tools a provider takes in one request."""

from context.tokens import ModelFamily, family_of

_MOST_TOOLS = {ModelFamily.OPENAI: 128, ModelFamily.GOOGLE: 512}
"""As the providers' own refusals name them: "array too long, maximum length 128", "at most 512 function
declarations". Of the others no such refusal is known."""


def most_tools(model: str) -> int | None:
    """Say how many tools a request to a model may carry.

    Args:
        model: Its name at any host.

    Returns:
        The number, > 0; None where no limit is known.
    """
    return _MOST_TOOLS.get(family_of(model))
