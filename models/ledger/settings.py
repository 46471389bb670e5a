"""Settings of spending: the caps of a day."""

from decimal import Decimal
from functools import lru_cache
from typing import Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from models.base_settings import Settings
from models.ledger.caps import Caps


class BudgetSettings(Settings):
    """Caps in force, read once from `AFTERTURN_*`. `none` removes a cap."""

    model_config = SettingsConfigDict(env_ignore_empty=True, env_parse_none_str="none")

    tenant_tokens_per_day: int | None = Field(
        100_000_000, ge=1, description="Most tokens per tenant and day; `none` removes the cap."
    )
    session_tokens_per_day: int | None = Field(
        5_000_000, ge=1, description="Most tokens per session and day; `none` removes the cap."
    )
    tenant_usd_per_day: Decimal | None = Field(
        Decimal(50), gt=0, description="Most US dollars per tenant and day; `none` removes the cap."
    )
    session_usd_per_day: Decimal | None = Field(
        Decimal(5), gt=0, description="Most US dollars per session and day; `none` removes the cap."
    )

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        for unit in ("tokens", "usd"):
            session, tenant = (
                getattr(self, f"session_{unit}_per_day"),
                getattr(self, f"tenant_{unit}_per_day"),
            )
            if session is not None and tenant is not None and session > tenant:
                raise ValueError(f"AFTERTURN_SESSION_{unit.upper()}_PER_DAY is above the tenant's cap")
        return self

    @property
    def caps(self) -> Caps:
        """The caps as a value."""
        return Caps(
            tenant_tokens_per_day=self.tenant_tokens_per_day,
            session_tokens_per_day=self.session_tokens_per_day,
            tenant_usd_per_day=self.tenant_usd_per_day,
            session_usd_per_day=self.session_usd_per_day,
        )


budget_settings = lru_cache(BudgetSettings)
"""Read the settings once; later changes have no effect."""
