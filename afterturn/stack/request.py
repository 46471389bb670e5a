"""Request to a keeper, and the addresses in its answer."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from afterturn.stack.roles import APPLICATIONS, SERVERS


@dataclass(frozen=True)
class StackRequest:
    """Description of a stack to keep.

    Attributes:
        directory: Directory of all the stack's files.
        keep: Leave the directory at the end.
        owner_pid: The owner's process.
        roles: Roles to run; the two servers always run.
        port: The API's port, 0 for any.
    """

    directory: str
    keep: bool
    owner_pid: int
    roles: Sequence[str] = (*SERVERS, *APPLICATIONS)
    port: int = 0

    def to_json(self) -> str:
        """Write the request as a line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read the output of `to_json`."""
        return cls(**json.loads(line))


@dataclass(frozen=True)
class Addresses:
    """Addresses of a running stack.

    Attributes:
        base_url: The API.
        api_key: A key for the API.
        flower_url: The view of the workers.
        flower_auth: Credentials of the view, as `name:password`.
        database_url: PostgreSQL, as postgresql://.
        broker_url: Valkey, as redis://.
        directory: Directory of data and logs.
        pids: The processes by role, at the time of readiness.
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
        """Return the addresses as a JSON object."""
        return {**asdict(self), "directory": str(self.directory)}

    @classmethod
    def from_json_object(cls, body: dict[str, Any]) -> Self:
        """Read the output of `to_json_object`."""
        return cls(**{**body, "directory": Path(body["directory"])})
