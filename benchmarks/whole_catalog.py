"""A whole catalog as JSON, nothing left out."""

from context.catalog.types import Catalog, EntryKind, project_entry
from context.types import JsonObject


def project_catalog(catalog: Catalog) -> JsonObject:
    """Write a whole catalog as in a routing guide.

    Args:
        catalog: Any catalog.

    Returns:
        The packs, under the document's key, and the pipelines.
    """
    return {
        catalog.packs_key: [project_entry(each) for each in catalog.entries if each.kind is EntryKind.PACK],
        "pipelines": [project_entry(each) for each in catalog.entries if each.kind is EntryKind.PIPELINE],
    }
