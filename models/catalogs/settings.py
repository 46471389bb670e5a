"""Settings of catalogs: limits, kept versions, caches, and tokens reserved beside a catalog."""

from functools import lru_cache

from pydantic import Field

from context.text.sanitize import MAX_TOOL_NAME_CHARS
from models.base_settings import Settings


class CatalogSettings(Settings):
    """Limits of catalogs, retention of their versions, and tokens reserved beside a catalog."""

    catalog_max_entries: int = Field(20_000, ge=1, description="Most tools and pipelines in a catalog.")
    catalog_max_bytes: int = Field(16 * 2**20, ge=1_024, description="Largest catalog as sent, in bytes.")
    catalog_max_description_chars: int = Field(
        32_000, ge=1, description="Longest description of a catalog entry, in characters."
    )
    catalog_max_name_chars: int = Field(
        MAX_TOOL_NAME_CHARS,
        ge=1,
        le=MAX_TOOL_NAME_CHARS,
        description="Longest name of a tool or pipeline in a catalog, in characters.",
    )
    catalog_keep_versions: int = Field(50, ge=1, description="Versions of a catalog kept readable.")
    catalog_former_versions: int = Field(
        3,
        ge=0,
        description="Earlier versions searched for removed tools when no current tool serves an intent as "
        "well.",
    )
    catalog_reserve_tokens: int = Field(
        2_000, ge=0, description="Default tokens reserved in a prompt beside the catalog and the intent."
    )
    catalog_cache_bytes: int = Field(
        96 * 2**20,
        ge=0,
        description="Approximate memory of the cache of catalogs per process, with their indexes, in bytes: "
        "some 11 times the text of the catalogs.",
    )
    tools_cache_bytes: int = Field(
        32 * 2**20,
        ge=0,
        description="Approximate memory of the cache of tools that requests bring along per process, with "
        "their indexes, in bytes.",
    )
    catalog_prepare_at_put_bytes: int = Field(
        2 * 2**20,
        ge=0,
        description="Largest catalog, in bytes of text, that is prepared before the answer to its PUT: about "
        "2 s of CPU a MiB. A larger one is prepared right after the answer.",
    )
    catalogs_prepared: int = Field(
        8,
        ge=0,
        description="Catalogs that a process of the API loads before its first request, those used or put "
        "last; 0 for none.",
    )
    profile_cache_s: float = Field(5.0, ge=0, description="Seconds to cache a model profile.")


catalog_settings = lru_cache(CatalogSettings)
"""Read the settings once; later changes have no effect."""
