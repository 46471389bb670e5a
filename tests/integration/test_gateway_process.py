"""litellm in a process of its own: when it comes, what it touches, and what a fork does to it."""

import subprocess
import sys

from llm.scripted import Mode, ScriptedServer, Step
from tests.data import ROOT

IN_ONE_PROCESS = """
import os, socket, sys, threading, uuid
looked_up = []
find = socket.getaddrinfo
socket.getaddrinfo = lambda *at, **more: looked_up.append(at[0]) or find(*at, **more)
from llm.gateway import preload
print("litellm" in sys.modules)
preload()
print("litellm" in sys.modules, threading.active_count(), looked_up)
sys.stdout.flush()
from llm.call import ask
from llm.requests import CompletionRequest, Purpose
from llm.settings import LlmSettings
messages = [{"role": "user", "content": "hi"}]
request = CompletionRequest(uuid.uuid4(), Purpose.PLAN, "openai/x", messages, 10, 5)
def call():
    return ask(request, LlmSettings(llm_api_base=sys.argv[1]), deadline_s=20).text
child = os.fork()
if child == 0:
    print("child", call())
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
print("parent", call(), set(looked_up))
"""


def test_litellm_comes_late_offline_without_threads_and_survives_a_fork() -> None:
    with ScriptedServer(default=Step(Mode.OK)) as server:
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", IN_ONE_PROCESS, server.base_url],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )
    assert ended.stdout.splitlines() == ["False", "True 1 []", "child ok", "parent ok {'127.0.0.1'}"], (
        ended.stderr
    )
