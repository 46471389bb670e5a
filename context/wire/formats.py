"""Registry of the wire formats: a member of `Wire` names the folder that holds the format."""

from collections.abc import Mapping
from importlib import import_module

from context.types import Wire
from context.wire.format import Format

FORMATS: Mapping[Wire, Format] = {
    wire: import_module(f"context.wire.{wire.value}.format").FORMAT for wire in Wire
}


def format_of(wire: Wire) -> Format:
    """Find a format by its name."""
    return FORMATS[wire]
