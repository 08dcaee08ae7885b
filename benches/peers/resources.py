"""`resources.py FILE COMMAND...`: runs the command and writes its CPU seconds and peak memory (`ru_maxrss`) to the file.

A small process of its own: a child's peak is at least the memory of the process that started it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    process = subprocess.Popen(sys.argv[2:])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    Path(sys.argv[1]).write_text(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss]), encoding="utf-8")
    sys.exit(abs(process.returncode))
