"""Settings of the database: address, pool and time limits."""

from functools import lru_cache

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from models.address import Address


class DatabaseSettings(BaseSettings):
    """The database's address and its limits; read once from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    database_url: Address = Field("postgresql://localhost/afterturn", description="Address of PostgreSQL.")
    pool_size: int = Field(16, ge=1, description="Connections kept open per process.")
    pool_overflow: int = Field(24, ge=0, description="Additional connections per process under load.")
    pool_timeout_s: float = Field(5, gt=0, description="Seconds a call waits for a connection.")
    row_security: bool = Field(
        default=False, description="Enforce tenant isolation by row security in PostgreSQL."
    )
    statement_timeout_ms: int = Field(15_000, ge=1, description="Statement timeout, in milliseconds.")
    lock_timeout_ms: int = Field(5_000, ge=1, description="Lock timeout, in milliseconds.")
    idle_in_transaction_timeout_ms: int = Field(
        15_000, ge=1, description="Timeout of an idle transaction, in milliseconds."
    )


@lru_cache
def database_settings() -> DatabaseSettings:
    """Read the settings once; they do not change afterwards."""
    return DatabaseSettings()
