"""A worker goes on hearing bells whatever becomes of its acknowledgements."""

from urllib.parse import urlsplit

from celery import Celery
from kombu import Queue

import workers.app  # noqa: F401 (what it changes in Kombu is what is tested)
from tests.acceptance.faults.wire import wire_to


def test_an_acknowledgement_that_the_wire_swallows_keeps_no_place(valkey_url: str) -> None:
    """The one place of the process is free again; kept, the worker would never hear another bell."""
    address = urlsplit(valkey_url)
    assert address.port
    with wire_to(address.port) as wire:
        celery = Celery(broker=valkey_url.replace(f":{address.port}", f":{wire.port}"))
        celery.conf.broker_transport_options = {"socket_timeout": 2}
        with celery.connection_for_read() as connection:
            channel = connection.default_channel
            channel.basic_qos(0, 1, apply_global=False)
            queue = Queue("acks", channel=channel)
            queue.declare()
            producer = connection.Producer(channel)
            producer.publish({}, routing_key="acks")
            message = queue.get()
            assert message is not None
            assert not channel.qos.can_consume()
            wire.silence()
            message.ack_log_error(_Quiet, connection.connection_errors)
            assert channel.qos.can_consume()


class _Quiet:
    """Takes Kombu's report of what the wire did."""

    @staticmethod
    def critical(*_: object, **__: object) -> None:
        """Say nothing."""
