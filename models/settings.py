"""How to reach Postgres, and how long it may take."""

from functools import lru_cache

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class DatabaseSettings(BaseSettings):
    """The database's address and its limits; read once from `AFTERTURN_*`."""

    model_config = SettingsConfigDict(env_prefix="AFTERTURN_", frozen=True, extra="ignore")

    database_url: str = Field("postgresql://localhost/afterturn", description="Where Postgres is.")
    pool_size: int = Field(16, ge=1, description="Connections a process keeps open.")
    pool_overflow: int = Field(24, ge=0, description="Connections it may add under load.")
    pool_timeout_s: float = Field(5, gt=0, description="How long a call waits for a connection.")
    statement_timeout_ms: int = Field(15_000, ge=1, description="The longest a statement may run.")
    lock_timeout_ms: int = Field(5_000, ge=1, description="The longest a statement waits for a lock.")
    idle_in_transaction_timeout_ms: int = Field(
        15_000, ge=1, description="After this an idle transaction is ended: none may wait for a model."
    )


@lru_cache
def database_settings() -> DatabaseSettings:
    """Read the settings once; they do not change afterwards."""
    return DatabaseSettings()
