"""The command lines that the embedded stack and the containers share."""

from afterturn.stack.roles import (
    LOOPBACK,
    application_environment,
    flower_command,
    worker_command,
)
from models.due_work.kinds import WorkQueue


def test_one_worker_serves_every_queue_that_celery_knows() -> None:
    assert ",".join(WorkQueue) in worker_command()


def test_a_worker_can_be_kept_to_its_queues() -> None:
    command = worker_command(["isolation"], concurrency=1, name="isolation")
    assert command[command.index("--queues") + 1] == "isolation"
    assert command[command.index("--concurrency") + 1] == "1"
    assert command[command.index("--hostname") + 1] == "isolation@%h"


def test_everything_listens_on_loopback_unless_told_otherwise() -> None:
    settings = application_environment(database_url="postgresql://d", broker_url="redis://b", api_port=1)
    assert settings["AFTERTURN_API_HOST"] == LOOPBACK == "127.0.0.1"
    assert "--address=127.0.0.1" in flower_command()


def test_no_process_asks_the_network_for_prices() -> None:
    settings = application_environment(database_url="postgresql://d", broker_url="redis://b", api_port=1)
    assert settings["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
