"""`ablations dashboard`: TensorBoard on the curves of a study, optuna-dashboard on its search, on this machine alone.

Both are served from threads of this process, so that they end with it. What is shown cannot be changed from a browser:
optuna-dashboard, which could delete a search, is asked to read and nothing else.
"""

import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from ablations.events import PAUSE, Events

if TYPE_CHECKING:
    from optuna.storages import BaseStorage

LOOPBACK = "127.0.0.1"
TUNE = "tune"
UNSEARCHED = "optuna-dashboard  nothing to show: no settings were searched (`ablations tune` does that)"
"""Where a study was not tuned."""
READING = ("GET", "HEAD")

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""A WSGI application (PEP 3333)."""


def dashboard(root: Path, storage: str | None = None, port: int | None = None, *, open_browser: bool = False) -> int:
    """Show the study in `root` until Ctrl-C; gives the exit status. The addresses go to standard output.

    Args:
        root: the study's folder.
        storage: URL of the Optuna storage of its search; None: the journal file in the folder, if there is one.
        port: of TensorBoard, the next being optuna-dashboard's; None: any that are free.
        open_browser: whether to show them in the browser.

    Raises ConfigError where there is nothing to show, a port is taken, or the extra `dashboard` is not installed.
    """
    _check_there(root)
    search = _search(root, storage)
    ports = (0, 0) if port is None else (port, port + 1)
    _check_free(ports[: 1 if search is None else 2])
    try:
        with Events(root) as events:
            events.update()
            addresses = [_tensorboard(events.folder, ports[0])]
            addresses += [_optuna(search, ports[1])] if search is not None else []
            for address in addresses:
                print(address, flush=True)
                if open_browser:
                    webbrowser.open(address.split()[-1])
            if search is None:
                print(UNSEARCHED, flush=True)
            while True:
                time.sleep(PAUSE)
                with suppress(OSError):  # a run's folder that has been removed, a full disk
                    events.update()
    except KeyboardInterrupt:
        return 0


def _check_there(root: Path) -> None:
    from models.config import ConfigError

    for module in ("tensorboard", "optuna_dashboard"):
        if find_spec(module) is None:
            raise ConfigError(f"dashboard: needs {module.replace('_', '-')}; pip install -e '.[dashboard]'")
    if not root.is_dir():
        raise ConfigError(f"{root}: nothing to show, `ablations run` makes it")


def _check_free(ports: Iterable[int]) -> None:
    from models.config import ConfigError

    for port in ports:
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers themselves
                probe.bind((LOOPBACK, port))
        except (OSError, OverflowError) as error:
            raise ConfigError(f"--port: {port} cannot be used: {error}") from error


def _search(root: Path, storage: str | None) -> "BaseStorage | None":
    """Storage of the study's search; None where there has been none."""
    from ablations.trials import JOURNAL, open_storage

    if storage is None and not (root / TUNE / JOURNAL).is_file():
        return None
    return open_storage(root / TUNE, storage)


def _tensorboard(folder: Path, port: int) -> str:
    """Serve event files; gives name and address. The reader written in Python needs no process of its own."""
    from tensorboard import program

    board = program.TensorBoard()
    board.configure(
        argv=[
            "tensorboard",
            *("--logdir", str(folder), "--host", LOOPBACK, "--port", str(port)),
            *("--load_fast", "false", "--reload_interval", "5"),
        ]
    )
    return f"TensorBoard       {board.launch()}"


def _optuna(storage: "BaseStorage", port: int) -> str:
    """Serve a search; gives name and address."""
    from optuna_dashboard import wsgi

    server = make_server(LOOPBACK, port, read_only(wsgi(storage)), _Threaded, _Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"optuna-dashboard  http://{LOOPBACK}:{server.server_port}/"


def read_only(application: Application) -> Application:
    """The application without the requests that change something: they are refused (405)."""

    def reading(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] in READING:
            return application(environ, start_response)
        start_response("405 Method Not Allowed", [("Allow", ", ".join(READING)), ("Content-Type", "text/plain")])
        return [b"read only\n"]

    return reading


class _Threaded(ThreadingMixIn, WSGIServer):
    """A browser keeps connections open: one must not block the next."""

    daemon_threads = True


class _Silent(WSGIRequestHandler):
    """Says nothing of each request."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""
