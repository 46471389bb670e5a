"""Tags around artifacts in a window, and the disarming of texts that contain such tags."""

from context.clip import one_line
from context.wrappers import escape_tags

REGION_TAG = "prepared_artifacts"
ITEM_TAG = "prepared_artifact"

_ATTRIBUTE = str.maketrans({"<": "(", ">": ")", '"': "'", "&": "+"})


def disarm(text: str) -> str:
    """Take from a text the power to open or close a block of the window, of artifacts or any other.

    Args:
        text: Text of unknown origin.

    Returns:
        The text with the `<` of each such tag written as `&lt;`; all other markup stays.
    """
    return escape_tags(text)


def attribute(value: str, max_chars: int) -> str:
    """Write a text as the value of a tag's attribute: one line, no quotes, no brackets, bounded.

    Args:
        value: Text of unknown origin.
        max_chars: The most characters, >= 1.
    """
    return one_line(value.translate(_ATTRIBUTE), max_chars)
