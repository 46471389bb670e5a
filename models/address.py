"""Addresses of servers as settings name them: one that is written wrongly is refused, and not quoted."""

import re
from typing import Annotated

from pydantic import AfterValidator

_HOST = r"(?:\[[^\]@]*\]|[^@:/?#\[\]\s,]*)(?::\d*)?"
_ONE = re.compile(rf"[a-zA-Z][\w+.-]*://(?:[^@/?#\s]*@)?{_HOST}(?:,{_HOST})*(?:/[^@?#\s]*)?(?:\?[^#\s]*)?")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def check_address(address: str) -> str:
    """Take an address whose parts can be told apart; of sentinels there may be several.

    Drivers quote what they cannot read, and with it the password: in logs, and on the screen.

    Args:
        address: As the operator wrote it.

    Raises:
        ValueError: It is none; the message does not repeat it.
    """
    for one in address.split(";"):
        if _ONE.fullmatch(one) is None or _BARE_PERCENT.search(one):
            raise ValueError(
                "is no address: write scheme://user:password@host:port/name, and in the password %2F for a "
                "slash, %40 for an at sign, %23 for a hash, %3F for a question mark, %3B for a semicolon and "
                "%25 for a percent sign"
            )
    return address


Address = Annotated[str, AfterValidator(check_address)]
"""A setting that names a server."""

AddressOrNone = Annotated[str, AfterValidator(lambda address: address and check_address(address))]
"""The same of a server that may be missing: empty."""
