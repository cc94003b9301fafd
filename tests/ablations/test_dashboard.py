"""The dashboards as a browser finds them."""

import json
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from signal import SIGINT
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from ablations import dashboard as dashboards
from ablations.dashboard import LOOPBACK, dashboard, read_only
from ablations.trials import open_storage
from models.config import ConfigError
from tests.ablations.test_events import ROWS, RUN, log
from tests.processes import end, start

pytest.importorskip("tensorboard")
optuna = pytest.importorskip("optuna")
pytest.importorskip("optuna_dashboard")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    log(tmp_path, ROWS)
    (tmp_path / "plan.json").write_text("{}")
    return tmp_path


@pytest.fixture
def search(study: Path) -> Path:
    found = optuna.create_study(storage=open_storage(study / "tune"), study_name="rates")
    found.add_trial(optuna.create_trial(value=3.0))
    return study


@pytest.fixture
def shown(search: Path) -> Iterator["subprocess.Popen[str]"]:
    process = start("dashboard", str(search))
    yield process
    end(process)


def addresses(process: "subprocess.Popen[str]") -> list[str]:
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]
    assert [line.split()[0] for line in lines] == ["TensorBoard", "optuna-dashboard"]
    return [line.split()[1] for line in lines]


def answer(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=60) as response:
        return json.load(response)


@pytest.mark.slow
def test_both_are_there_on_this_machine_alone_until_an_interrupt(shown: "subprocess.Popen[str]") -> None:
    board, search = addresses(shown)
    assert answer(f"{board}data/runs") == [RUN]
    assert [each["study_name"] for each in answer(f"{search}api/studies")["study_summaries"]] == ["rates"]
    ports = [urlsplit(address).port or 0 for address in (board, search)]
    for port in ports:
        with pytest.raises(ConnectionRefusedError):  # which answers where a server listens on all interfaces
            socket.create_connection(("127.0.0.2", port), timeout=5)
    with pytest.raises(HTTPError, match="405"):
        urllib.request.urlopen(urllib.request.Request(f"{search}api/studies/0", method="DELETE"), timeout=60)
    shown.send_signal(SIGINT)
    assert shown.wait(timeout=30) == 0
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((LOOPBACK, port), timeout=5)


def test_a_search_is_shown_where_there_is_one(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    opened: list[str] = []
    monkeypatch.setattr(dashboards, "_tensorboard", lambda folder, port: f"TensorBoard http://{folder.name}:{port}/")
    monkeypatch.setattr(dashboards, "_optuna", lambda storage, port: f"optuna-dashboard http://o:{port}/")
    monkeypatch.setattr(dashboards, "_check_free", lambda ports: None)
    monkeypatch.setattr("ablations.dashboard.time.sleep", interrupt)
    monkeypatch.setattr("ablations.dashboard.webbrowser.open", opened.append)
    assert dashboard(study, port=4000) == 0
    board, missing = capsys.readouterr().out.splitlines()
    assert board == "TensorBoard http://events:4000/"
    assert missing.startswith("optuna-dashboard  nothing to show: no settings were searched")
    assert not (study / "tune").exists()
    open_storage(study / "tune")
    (study / "tune/journal.log").touch()
    assert dashboard(study, port=4000, open_browser=True) == 0
    assert "nothing to show" not in capsys.readouterr().out
    assert opened == ["http://events:4000/", "http://o:4001/"]


def test_what_would_change_something_does_not_reach_the_application() -> None:
    reached: list[str] = []

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        reached.append(environ["REQUEST_METHOD"])
        return [b"yes"]

    statuses: list[str] = []
    guarded = read_only(application)
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"):
        list(guarded({"REQUEST_METHOD": method}, lambda status, headers: statuses.append(status)))
    assert reached == ["GET", "HEAD"]
    assert [status[:3] for status in statuses] == ["405"] * 4


@pytest.mark.parametrize("place", [0, 1])
def test_a_port_that_is_taken_is_refused(place: int, search: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--port: {port} cannot be used: .*in use"):
            dashboard(search, port=port - place)
    with pytest.raises(ConfigError, match="--port: 65536 cannot be used"):
        dashboard(search, port=65535 + (place == 0))


@pytest.mark.parametrize("module", ["tensorboard", "optuna_dashboard"])
def test_what_is_not_installed_is_asked_for_in_one_line(
    module: str, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboards, "find_spec", lambda name: None if name == module else name)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[dashboard\]'$"):
        dashboard(study)


def test_a_study_that_was_not_run_has_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to show"):
        dashboard(tmp_path / "none")
    assert not (tmp_path / "none").exists()
