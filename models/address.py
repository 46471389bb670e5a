"""Addresses of servers in settings."""

import re
from typing import Annotated
from urllib.parse import quote

from pydantic import AfterValidator

_HOST = r"(?:\[[^\]@]*\]|[^@:/?#\[\]\s,]*)(?::\d*)?"
_ONE = re.compile(rf"[a-zA-Z][\w+.-]*://(?:[^@/?#\s]*@)?{_HOST}(?:,{_HOST})*(?:/[^@?#\s]*)?(?:\?[^#\s]*)?")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def check_address(address: str) -> str:
    """Check that the parts of an address can be told apart; sentinel addresses may come in a list.

    Drivers quote an unreadable address, password included, in logs and on the screen.

    Args:
        address: The text written by the operator.

    Raises:
        ValueError: The text is no address; the message does not repeat the text.
    """
    for one in address.split(";"):
        if _ONE.fullmatch(one) is None or _BARE_PERCENT.search(one):
            raise ValueError(
                "is no address: write scheme://user:password@host:port/name, and in the password %2F for a "
                "slash, %40 for an at sign, %23 for a hash, %3F for a question mark, %3B for a semicolon and "
                "%25 for a percent sign"
            )
    return address


_LOGIN = re.compile(r"(?P<scheme>[a-zA-Z][\w+.-]*://)(?:(?P<user>[^@:/?#]*)(?P<password>:[^@/?#]*)?@)?")


def with_password(address: str, password: str) -> str:
    """Write a password into each address of a list that has none.

    Args:
        address: Checked addresses, separated by semicolons.
        password: The password as it is, without escapes; empty for none.
    """
    if not password or not address:
        return address
    return ";".join(_insert(one, quote(password, safe="")) for one in address.split(";"))


def _insert(address: str, password: str) -> str:
    found = _LOGIN.match(address)
    if found is None or found["password"]:
        return address
    return f"{found['scheme']}{found['user'] or ''}:{password}@{address[found.end() :]}"


Address = Annotated[str, AfterValidator(check_address)]
"""A setting with the address of a server."""

AddressOrNone = Annotated[str, AfterValidator(lambda address: address and check_address(address))]
"""A setting with the address of an optional server; empty without a server."""
