"""The command `homeostat` of a shell in a test: asks the server that forks commands, and ends as the command does.

`tests/processes.py` writes it into a folder of its own, with the address of the server. It starts without the modules
of the site, in a hundredth of a second. A signal is passed on; where no server listens, the installed script runs.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys

_LENGTH = struct.Struct("!I")
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(address: str, program: str) -> int:
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(f"\0{address}")
        except OSError:
            os.execv(program, [program, *sys.argv[1:]])
        request = {
            "arguments": [program, *sys.argv[1:]],
            "environment": dict(os.environ),
            "directory": os.getcwd(),
        }
        text = json.dumps(request).encode()
        socket.send_fds(server, [_LENGTH.pack(len(text))], [0, 1, 2])
        server.sendall(text)
        (process,) = _LENGTH.unpack(server.recv(_LENGTH.size, socket.MSG_WAITALL))
        for number in _PASSED_ON:
            signal.signal(number, lambda got, _: os.kill(process, got))
        # Nothing is reported of a command that was killed.
        told = server.recv(1)
        return told[0] if told else 128 + signal.SIGKILL
