"""Waiting for a process to be in the middle of its work, without guessing how long that takes."""
import os
import pathlib
import time

from patience import PATIENCE_S


def wait_until_busy(process):
    """True once the process has computed for a while: then it is past loading and at its work."""
    ticks = os.sysconf("SC_CLK_TCK")
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        if int(fields[11]) > 0.3 * ticks:
            return True
        time.sleep(0.01)
    return False
