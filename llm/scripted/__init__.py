"""A scripted model: an OpenAI-compatible server on loopback, with answers wrong in every known way."""

from llm.scripted.server import Recorded, ScriptedServer
from llm.scripted.steps import Mode, Script, Step

__all__ = ["Mode", "Recorded", "Script", "ScriptedServer", "Step"]
