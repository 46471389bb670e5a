"""Resources: two projections readable without arguments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import Response

from api import plans
from api.catalogs import budgets
from api.mcp.visit import Visit


@dataclass(frozen=True)
class Resource:
    """A resource.

    Attributes:
        uri: The resource's address.
        name: The resource's name.
        title: Display title.
        description: Description of the content.
        read: Function to read the resource as JSON; runs in a thread, since the database blocks.
    """

    uri: str
    name: str
    title: str
    description: str
    read: Callable[[Visit], Response]


def _budgets(visit: Visit) -> Response:
    return budgets.show_budgets(visit.call(), budgets.WantedModel(model=None))


def _my_plans(visit: Visit) -> Response:
    asked = plans.PastPlans.model_validate({})
    return plans.show_my_plans(visit.call(), asked)


_ALL = (
    Resource(
        "afterturn://context-budgets",
        "context-budgets",
        "Context budgets",
        "How much each kind of model may be shown: tier, tokens in and out, bytes of a catalog; and the "
        "policy by which the table is read.",
        _budgets,
    ),
    Resource(
        "afterturn://my-plans",
        "my-plans",
        "My plans",
        "What was planned lately for which intent, with which tools, and how that ended.",
        _my_plans,
    ),
)

RESOURCES: Mapping[str, Resource] = {resource.uri: resource for resource in _ALL}
