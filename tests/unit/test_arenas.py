"""The threads of an API process share few arenas of memory."""

import subprocess
import sys

import pytest

from tests.data import ROOT

PROBE = """
import ctypes, sys, threading
from api.__main__ import share_arenas
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.fopen.restype, libc.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
libc.malloc_info.argtypes, libc.fclose.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
if sys.argv[2] == "shared":
    share_arenas()
together = threading.Barrier(8)
def allocate():
    together.wait()
    libc.malloc(1_000)
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
told = libc.fopen(sys.argv[1].encode(), b"w")
libc.malloc_info(0, told)
libc.fclose(told)
print(open(sys.argv[1]).read().count("<heap nr="))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has arenas")
@pytest.mark.parametrize(("how", "is_few"), [("shared", True), ("alone", False)])
def test_threads_share_two_arenas(how: str, is_few: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    told = str(tmp_path_factory.mktemp("arenas") / "info.xml")
    probe = subprocess.run(
        [sys.executable, "-c", PROBE, told, how], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert (int(probe.stdout) <= 2) is is_few
