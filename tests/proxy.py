"""A TCP proxy on loopback that loses what passes: every packet, or the answer to one request."""

from __future__ import annotations

import contextlib
import socket
import threading

HOST = "127.0.0.1"
CHUNK = 1 << 16


class Proxy:
    """Forwards each connection to the target until it is told to `swallow`, or to `cut` all of them."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._forwards = threading.Event()
        self._forwards.set()
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._request = b""
        self._answer_is_lost = threading.Event()
        self._closing = False
        self._accepting = threading.Thread(target=self._accept, name="proxy", daemon=True)
        self._accepting.start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing = True
        self._listener.shutdown(socket.SHUT_RDWR)  # ends `accept`, which `close` alone would not
        self._accepting.join()
        self._listener.close()
        self.cut()
        self._forwards.set()

    def swallow(self) -> None:
        """Keep everything that comes from now on; connections stay open, new ones are accepted."""
        self._forwards.clear()

    def forward(self) -> None:
        """Let everything through again, also what was kept."""
        self._forwards.set()

    def lose_answer_to(self, request: bytes) -> None:
        """Let the next request with these bytes through, and end every connection in place of its answer."""
        self._request = request

    def cut(self) -> None:
        """End every connection, so that both sides hear of it."""
        with self._lock:
            ended, self._sockets = self._sockets, []
        for each in ended:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
            except OSError:
                continue
            with self._lock:
                self._sockets += [client, server]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._forwards.wait()
                if self._answer_is_lost.is_set():
                    self._answer_is_lost.clear()
                    self.cut()
                    return
                if self._request and self._request in data:
                    self._request = b""
                    self._answer_is_lost.set()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
