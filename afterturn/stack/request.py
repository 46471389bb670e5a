"""What is asked of a keeper, and the addresses that it answers with."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from afterturn.stack.roles import APPLICATIONS, SERVERS


@dataclass(frozen=True)
class Request:
    """Which stack to keep.

    Attributes:
        directory: Where everything of it lives.
        keep: Leave the directory at the end.
        owner_pid: The process for which it is kept.
        roles: What to run; the two servers come always.
        port: The API's port, 0 for any.
    """

    directory: str
    keep: bool
    owner_pid: int
    roles: Sequence[str] = (*SERVERS, *APPLICATIONS)
    port: int = 0

    def to_json(self) -> str:
        """Write it as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read what `to_json` wrote."""
        return cls(**json.loads(line))


@dataclass(frozen=True)
class Addresses:
    """Where a running stack is reached.

    Attributes:
        base_url: The API.
        api_key: A key for it.
        flower_url: The view of the workers.
        flower_auth: What opens it, as `name:password`.
        database_url: PostgreSQL, as postgresql://.
        broker_url: Valkey, as redis://.
        directory: Where its data and logs are.
        pids: The processes by role, as they were when it became ready.
    """

    base_url: str
    api_key: str
    flower_url: str
    flower_auth: str
    database_url: str
    broker_url: str
    directory: Path
    pids: dict[str, int] = field(default_factory=dict)

    def to_json_object(self) -> dict[str, Any]:
        """The addresses as a JSON object."""
        return {**asdict(self), "directory": str(self.directory)}

    @classmethod
    def from_json_object(cls, body: dict[str, Any]) -> Self:
        """Read what `to_json_object` wrote."""
        return cls(**{**body, "directory": Path(body["directory"])})
