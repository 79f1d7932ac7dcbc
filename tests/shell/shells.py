"""The shell as a command, and a server with its clients, which its tests run behind links. No tests."""

import subprocess
import sys

from tests.processes import LONG

SHELL = [sys.executable, "-m", "tailback", "shell"]

SERVER = """
import socket
listener = socket.create_server(("0.0.0.0", 5001))
while True:
    connection, _ = listener.accept()
    while chunk := connection.recv(65536):
        connection.sendall(chunk[:1])
    connection.close()
"""
CLIENT = """
import os, socket, sys
connection = socket.create_connection((os.environ["TAILBACK_FAR"] if len(sys.argv) < 3 else sys.argv[2], 5001))
connection.sendall(bytes(int(sys.argv[1])))
connection.shutdown(socket.SHUT_WR)
while connection.recv(65536):
    pass
"""
PINGS = """
import os, socket, time
peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
peer.connect((os.environ["TAILBACK_FAR"], 5001))
least = 9.0
for _ in range(5):
    began = time.monotonic()
    peer.send(b"x")
    peer.recv(1)
    least = min(least, time.monotonic() - began)
print(least)
"""


def shell(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """What became of a command line."""
    return subprocess.run([*SHELL, *words], capture_output=True, text=True, timeout=LONG, check=False, **options)  # type: ignore[call-overload,no-any-return]
