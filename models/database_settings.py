"""Address and limits of the database."""

from functools import lru_cache
from typing import Self

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator

from models.base_settings import Address, AddressOrNone, Settings, with_password


class DatabaseSettings(Settings):
    """The database's address and its limits; read once from `AFTERTURN_*`."""

    database_password: SecretStr = Field(
        SecretStr(""), description="Password for an address without one; any characters."
    )
    database_url: Address = Field("postgresql://localhost/afterturn", description="Address of PostgreSQL.")
    direct_database_url: AddressOrNone = Field(
        "", description="Address past a pooler, to listen and to migrate; empty: `AFTERTURN_DATABASE_URL`."
    )
    transaction_pooler: bool = Field(
        default=False, description="Keep nothing on a connection, as a pooler by transaction needs."
    )
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

    @property
    def listening_url(self) -> str:
        """Address of a connection that stays with its session of the server."""
        return self.direct_database_url or self.database_url

    @field_validator("database_url", "direct_database_url")
    @classmethod
    def _log_in(cls, address: str, info: ValidationInfo) -> str:
        return with_password(address, info.data["database_password"].get_secret_value())

    @model_validator(mode="after")
    def _keep_the_wall(self) -> Self:
        if self.row_security and self.transaction_pooler:
            raise ValueError(
                "AFTERTURN_ROW_SECURITY names the tenant on a connection, which AFTERTURN_TRANSACTION_POOLER "
                "gives to others: pool by session, and leave AFTERTURN_TRANSACTION_POOLER off"
            )
        return self


database_settings = lru_cache(DatabaseSettings)
"""Read the settings once; later changes have no effect."""
