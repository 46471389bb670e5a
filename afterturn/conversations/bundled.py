"""The demo's conversation: ten days in a cold store, with results that can be checked."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32

from afterturn.conversations.formats import Conversation, EventLine, parse_transcripts, to_conversation

SLOT = timedelta(minutes=10)
NIGHT_START = datetime(2026, 3, 4, 22, 0, tzinfo=UTC)
NIGHT_SLOTS = 56
OUTAGE_START = datetime(2026, 3, 5, 2, 10, tzinfo=UTC)
OUTAGE_END = datetime(2026, 3, 5, 3, 40, tzinfo=UTC)
REPLAYED_AT = datetime(2026, 3, 5, 3, 41, 7, tzinfo=UTC)
PEAK_AT = datetime(2026, 3, 5, 3, 20, tzinfo=UTC)
ALL_SENSORS = range(401, 425)
GATEWAY_3_SENSORS = range(415, 425)
LOST_SENSOR = 417
TWICE_SENSOR = 422
OLD_FIRMWARE = (409, 417, 422)
WEAK_BATTERIES_MV = MappingProxyType({404: 2790, 411: 2760, 413: 2740, 417: 2810, 419: 2770, 422: 2610})
LAST_COLD_ZONE_A = 406
LAST_CHILLED_ZONE_C = 412
TARGET_C = MappingProxyType({"A": -22.1, "B": -18.4, "C": 4.6})
JANUARY_ALARMS = 61
EVERY_NINTH_IS_LONG = 9


class SensorReading(NamedTuple):
    """A line of the export: time of measurement, values, and delay of arrival."""

    measured_at: datetime
    sensor: int
    zone: str
    temp_c: float
    battery_mv: int
    rssi_dbm: int
    number: int
    late_s: int


def wobble(*key: object) -> float:
    """Return noise in [-1, 1), equal for equal keys on every machine."""
    return crc32(repr(key).encode()) / 2**31 - 1


def zone_of(sensor: int) -> str:
    """Name a sensor's zone: A deep freeze, B frozen, C chilled."""
    if sensor <= LAST_COLD_ZONE_A:
        return "A"
    return "C" if sensor <= LAST_CHILLED_ZONE_C else "B"


def battery_mv(sensor: int) -> int:
    """Return a sensor's battery voltage; the six weak batteries are replaced in the conversation."""
    return WEAK_BATTERIES_MV.get(sensor, 3310 + round(210 * wobble("battery", sensor)))


def temperature_c(sensor: int, at: datetime) -> float:
    """Return the air temperature at a sensor; CS-0417 warms up around the peak of the night."""
    noise = wobble(sensor, at.isoformat())
    if sensor != LOST_SENSOR:
        return round(TARGET_C[zone_of(sensor)] + 0.3 * noise, 1)
    minutes_from_peak = abs((at - PEAK_AT).total_seconds()) / 60
    return round(TARGET_C["B"] + max(0.0, 2.7 - minutes_from_peak * 0.03) + 0.04 * noise, 1)


def night_readings() -> Iterator[SensorReading]:
    """Yield the readings in the database: CS-0417 lost in the outage, CS-0422 stored twice afterwards."""
    for slot in range(NIGHT_SLOTS):
        planned = NIGHT_START + slot * SLOT
        in_outage = OUTAGE_START <= planned <= OUTAGE_END
        for sensor in GATEWAY_3_SENSORS:
            if in_outage and sensor == LOST_SENSOR:
                continue
            reading = _reading(sensor, slot, planned, in_outage=in_outage)
            yield from [reading, reading] if in_outage and sensor == TWICE_SENSOR else [reading]


def _reading(sensor: int, slot: int, planned: datetime, *, in_outage: bool) -> SensorReading:
    measured = planned + timedelta(seconds=sensor % 10)
    return SensorReading(
        measured_at=measured,
        sensor=sensor,
        zone=zone_of(sensor),
        temp_c=temperature_c(sensor, planned),
        battery_mv=battery_mv(sensor) - slot // 8,
        rssi_dbm=-68 + round(9 * wobble("rssi", sensor, slot)),
        number=184_000 + (sensor - 400) * 1000 + slot,
        late_s=int((REPLAYED_AT - measured).total_seconds()) if in_outage else 2,
    )


def reading_export() -> str:
    """Write a night of ten sensors as CSV: a little over 30 kB."""
    lines = ["measured_at,sensor,zone,temp_c,battery_mv,rssi_dbm,number,late_s"]
    lines += [
        f"{_utc(row.measured_at)},CS-0{row.sensor},{row.zone},"
        f"{row.temp_c:.1f},{row.battery_mv},{row.rssi_dbm},{row.number},{row.late_s}"
        for row in night_readings()
    ]
    return "\n".join(lines) + "\n"


def sensor_inventory() -> str:
    """Write the 24 sensors as a JSON list."""
    sensors = [
        {
            "id": f"CS-0{sensor}",
            "zone": zone_of(sensor),
            "gateway": "GW-3" if sensor in GATEWAY_3_SENSORS else f"GW-{1 + sensor % 2}",
            "firmware": "1.8.2" if sensor in OLD_FIRMWARE else "1.9.4",
            "battery_mv": battery_mv(sensor),
            "calibrated_until": "2026-03-13" if sensor in {404, 413} else f"2026-{4 + sensor % 8:02d}-30",
        }
        for sensor in ALL_SENSORS
    ]
    return "[\n" + ",\n".join(json.dumps(sensor) for sensor in sensors) + "\n]"


def alarm_minutes(alarm: int) -> int:
    """Return the minutes of the n-th January alarm (1..61) over its limit; seven lasted 12 or more."""
    if alarm % EVERY_NINTH_IS_LONG == 4:  # noqa: PLR2004 - 4, 13, 22 ... 58
        return 14 + alarm % 25
    return 5 + alarm % 6


def alert_history() -> str:
    """Write the old poller's 61 alarms of January 2026."""
    lines = ["id   | raised_at (UTC)  | sensor  | zone | over_limit_min | cleared_by"]
    for alarm in range(1, JANUARY_ALARMS + 1):
        raised = datetime(2026, 1, 1, 3, 17, tzinfo=UTC) + alarm * timedelta(hours=11, minutes=43)
        sensor = 401 + (alarm * 7) % 24
        cleared = "repair" if alarm_minutes(alarm) > EVERY_NINTH_IS_LONG + 2 else "itself"
        lines.append(
            f"{700 + alarm} | {raised:%Y-%m-%d %H:%M} | CS-0{sensor} | {zone_of(sensor)}    "
            f"| {alarm_minutes(alarm):14d} | {cleared}"
        )
    return "\n".join(lines)


def gateway_log() -> str:
    """Write the log of GW-3 from 02:00 to 03:42 UTC: heartbeat, outage, retries, replay."""
    return "\n".join([*_retries(), *_replay()])


def _retries() -> Iterator[str]:
    for minute in range(130):
        at = OUTAGE_START + timedelta(minutes=minute - 40, seconds=3)
        if minute < 40:  # noqa: PLR2004 - the outage begins
            yield f"{_utc(at)} gw-3 uplinkd[412] INFO heartbeat ok rtt_ms={21 + minute % 7} queue=0"
        elif minute % 2 == 0:
            queued = max(0, (minute - 40) // 10 + 1) * 10
            yield (
                f"{_utc(at)} gw-3 uplinkd[412] WARN connect 10.20.0.5:5683 timed out "
                f"attempt={minute // 2 - 19} backoff_s=120 queue={queued}"
            )


def _replay() -> Iterator[str]:
    yield f"{_utc(REPLAYED_AT)} gw-3 uplinkd[412] INFO uplink restored after 5467 s"
    for sensor in GATEWAY_3_SENSORS:
        if sensor == LOST_SENSOR:
            yield (
                f"{_utc(REPLAYED_AT)} gw-3 ring[77] ERROR slot 3 (CS-0{sensor}) overwritten, 10 frames lost, "
                "firmware 1.8.2 sends without window"
            )
            continue
        twice = " sent=2 reason=ack_missing" if sensor == TWICE_SENSOR else " sent=1"
        yield f"{_utc(REPLAYED_AT)} gw-3 ring[77] INFO replay CS-0{sensor} frames=10{twice}"


def backfill_report() -> str:
    """Write the readings recovered from the sensor's memory: a reading per minute for the whole outage."""
    minutes = int((OUTAGE_END - OUTAGE_START).total_seconds()) // 60 + 1
    lines = [
        f"backfill CS-0{LOST_SENSOR} from {_utc(OUTAGE_START)} to {_utc(OUTAGE_END)} source=sensor_memory"
    ]
    for minute in range(minutes):
        at = OUTAGE_START + timedelta(minutes=minute)
        lines.append(f"{_utc(at)} temp_c={temperature_c(LOST_SENSOR, at):.1f} inserted note=NOTE-44")
    return "\n".join([*lines, f"done read={minutes} inserted={minutes} conflicts=0 changed=0"])


def comparison_report() -> str:
    """Write the parallel run of both systems: a line for each sensor, 288 slots of five minutes each."""
    lines = ["sensor  | slots | both | only_old | only_new | max_diff_c"]
    for sensor in ALL_SENSORS:
        only_new = 2 if sensor in OLD_FIRMWARE else sensor % 2
        lines.append(
            f"CS-0{sensor} |   288 | {288 - only_new:4d} |        0 | {only_new:8d} | "
            f"{0.1 if sensor % 3 else 0.0:10.1f}"
        )
    return "\n".join(lines)


def _utc(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


GENERATED: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "alert_history": alert_history,
        "backfill_report": backfill_report,
        "comparison_report": comparison_report,
        "gateway_log": gateway_log,
        "reading_export": reading_export,
        "sensor_inventory": sensor_inventory,
    }
)
"""Text of each placeholder `{{name}}` in the conversation's file."""


FILE = Path(__file__).with_name("cold_store.json")


def bundled_conversation() -> Conversation:
    """Load the conversation; its long tool results are computed deterministically.

    Returns:
        The conversation: two speakers, two languages, parallel calls, failed calls, a result of 30 kB.
    """
    (transcript,) = parse_transcripts(FILE.read_bytes())
    return to_conversation(replace(transcript, entries=tuple(_fill(entry) for entry in transcript.entries)))


def _fill(entry: EventLine) -> EventLine:
    """Replace a placeholder `{{name}}` by its computed text."""
    content = entry.message.get("content")
    if isinstance(content, str) and content.startswith("{{") and content.endswith("}}"):
        return replace(entry, message={**entry.message, "content": GENERATED[content[2:-2]]()})
    return entry
