"""Settings of the database: address, pool and time limits."""

from functools import lru_cache

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from models.address import Address, with_password
from models.settings import Settings


class DatabaseSettings(Settings):
    """The database's address and its limits; read once from `AFTERTURN_*`."""

    database_password: SecretStr = Field(
        SecretStr(""), description="Password for an address without one; any characters."
    )
    database_url: Address = Field("postgresql://localhost/afterturn", description="Address of PostgreSQL.")
    pool_size: int = Field(16, ge=1, description="Connections kept open per process; 4 in a worker.")
    pool_overflow: int = Field(
        24, ge=0, description="Additional connections per process under load; 4 in a worker."
    )
    pool_timeout_s: float = Field(
        5, gt=0, description="Seconds a call waits for a connection; 60 in a worker."
    )
    row_security: bool = Field(
        default=False, description="Enforce tenant isolation by row security in PostgreSQL."
    )
    statement_timeout_ms: int = Field(15_000, ge=1, description="Statement timeout, in milliseconds.")
    lock_timeout_ms: int = Field(5_000, ge=1, description="Lock timeout, in milliseconds.")
    idle_in_transaction_timeout_ms: int = Field(
        15_000, ge=1, description="Timeout of an idle transaction, in milliseconds."
    )

    @field_validator("database_url")
    @classmethod
    def _log_in(cls, address: str, info: ValidationInfo) -> str:
        return with_password(address, info.data["database_password"].get_secret_value())


database_settings = lru_cache(DatabaseSettings)
"""Read the settings once; later changes have no effect."""
