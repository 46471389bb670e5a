"""The environment of a person who set nothing: what other tests chose for this process stays here."""

import os


def untouched(**chosen: str) -> dict[str, str]:
    """This process's environment without any setting of ours, but for the chosen ones."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("AFTERTURN_")}
    return {**others, **chosen}
