"""Provider limits on the number of tools in a request."""

import re

from context.tokens import ModelFamily, family_of

_MOST_TOOLS = {
    ModelFamily.OPENAI: 128,
    ModelFamily.GOOGLE: 512,
    ModelFamily.DEEPSEEK: 128,
    ModelFamily.XAI: 128,
}
"""Tool limits from the providers' own refusals and pages.

Sources: "array too long, maximum length 128", "at most 512 function declarations", "a max of 128 functions".
No limit is known for other providers.
"""

_BY_NAME = re.compile(r"kimi|moonshot|glm|^groq/")
_MOST_BY_NAME = 128


def most_tools(model: str) -> int | None:
    """Return the most tools in a request to a model.

    Args:
        model: The model's name at any host.

    Returns:
        The number, > 0; None if no limit is known.
    """
    known = _MOST_TOOLS.get(family_of(model))
    return _MOST_BY_NAME if known is None and _BY_NAME.search(model.lower()) else known
