"""Formulas for what is too large to simulate event by event: servers needed, waits, a day with an outage."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

DAY_S = 86_400.0


def erlang_c(servers: int, load: float) -> float:
    """The probability that work has to wait for a server (M/M/c).

    Args:
        servers: How many, >= 1.
        load: Arrivals a second times seconds of service, >= 0.

    Returns:
        1.0 where the load is not below the servers.
    """
    if load >= servers:
        return 1.0
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


@dataclass(frozen=True)
class Service:
    """How long a server is busy with a piece of work.

    Attributes:
        mean_s: On the average, > 0.
        variation: Standard deviation over mean, >= 0.
    """

    mean_s: float
    variation: float


def wait_quantile_s(servers: int, rate: float, service: Service, quantile: float) -> float:
    """How long such a share of work waits at most: Erlang's C with the factor of Allen and Cunneen.

    Args:
        servers: How many, >= 1.
        rate: Arrivals a second.
        service: What each takes.
        quantile: A share, in (0, 1).

    Returns:
        Seconds; infinity where the load is not below the servers.
    """
    load = rate * service.mean_s
    waits = erlang_c(servers, load)
    if waits >= 1:
        return math.inf
    if waits <= 1 - quantile:
        return 0.0
    mean_of_waiting = service.mean_s / (servers - load) * (1 + service.variation**2) / 2
    return mean_of_waiting * math.log(waits / (1 - quantile))


def servers_needed(rate: float, service: Service, *, most_wait_s: float, quantile: float = 0.95) -> int:
    """The fewest servers with which such a share of work waits no longer than that."""
    low = max(math.floor(rate * service.mean_s), 0) + 1
    high = low
    while wait_quantile_s(high, rate, service, quantile) > most_wait_s:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if wait_quantile_s(middle, rate, service, quantile) > most_wait_s:
            low = middle + 1
        else:
            high = middle
    return high


def day_curve(at_s: float, *, peak_factor: float) -> float:
    """The rate at a time of the day over the day's mean: highest at 14 h, lowest at 2 h, its mean is 1.

    Args:
        at_s: Seconds after midnight.
        peak_factor: The highest rate, >= 1.
    """
    sharpness = _sharpness(peak_factor)
    return math.exp(sharpness * math.cos(2 * math.pi * (at_s - 14 * 3600) / DAY_S)) / _bessel(sharpness)


@lru_cache
def _sharpness(peak_factor: float) -> float:
    """How pointed the curve must be (von Mises) to be so high at its peak."""
    low, high = 0.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.exp(middle) / _bessel(middle) < peak_factor else (low, middle)
    return low


@lru_cache
def _bessel(x: float) -> float:
    """The mean of exp(x cos) over a circle: the modified Bessel function of order 0."""
    term = total = 1.0
    for number in range(1, 200):
        term *= (x / 2 / number) ** 2
        total += term
    return total


@dataclass(frozen=True)
class Outage:
    """What an outage of the model leaves behind.

    Attributes:
        backlog: Pieces of work that wait at its end.
        old_work_s: From its end until what was asked for in it is done: the oldest goes first.
        catch_up_s: From its end until nothing waits any more; infinity where that never is.
    """

    backlog: float
    old_work_s: float
    catch_up_s: float


def catch_up(
    rate: Callable[[float], float],
    *,
    begins_s: float,
    lasts_s: float,
    servers: int,
    mean_s: float,
    sessions: float,
) -> Outage:
    """Follow the backlog in steps of ten seconds, as a fluid.

    A session whose work waits already makes no more of it, however often it is asked for: so no more
    waits than there are sessions.

    Args:
        rate: Pieces of work a second at a time, with the model there.
        begins_s: When the model goes away.
        lasts_s: For how long.
        servers: Worker processes.
        mean_s: What a piece takes one of them.
        sessions: Sessions that can ask in that time.
    """
    step, at, backlog = 10.0, begins_s, 0.0
    while at < begins_s + lasts_s:
        backlog += rate(at) * step * (1 - min(backlog / sessions, 1.0))
        at += step
    left, end = backlog, at
    while backlog > 0 and at < end + 7 * DAY_S:
        backlog += rate(at) * step * (1 - min(backlog / sessions, 1.0)) - servers / mean_s * step
        at += step
    return Outage(left, left * mean_s / servers, at - end if backlog <= 0 else math.inf)
