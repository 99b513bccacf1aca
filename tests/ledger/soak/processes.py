"""Processes forked from a warm one that has no connections."""

from __future__ import annotations

import json
import os
import sys
import traceback


def forked(body):
    """Run a function in a forked process; returns its id and the end of a pipe on which its result will stand as JSON."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    code = 1
    try:
        os.close(reading)
        result = json.dumps(body()).encode()
        while result:
            result = result[os.write(writing, result) :]
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def result_of(pid, reading):
    """Wait for a forked process; its result, or None if it did not end well."""
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    return json.loads(text) if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else None
