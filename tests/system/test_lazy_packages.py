"""A package that is imported lazily runs its `__init__` when a name in it is used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from hermes_jobs.system.later import later
from hermes_jobs.system.lazy_packages import lazy_packages, provide
from tests.processes import ROOT


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with a heavy part, `lazily_made.types`, that counts how often it is run."""
    inside = tmp_path / "lazily_made" / "types"
    inside.mkdir(parents=True)
    (inside.parent / "__init__.py").write_text("from . import types\nfrom .types.small import SMALL\n")
    (inside / "small.py").write_text("SMALL = 1\n")
    (inside / "large.py").write_text("import time\ntime.sleep(0.05)\nLARGE = 2\n")
    (inside / "__init__.py").write_text("RUNS = globals().get('RUNS', 0) + 1\nfrom .large import LARGE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "lazily_made"
    for name in [name for name in sys.modules if name.startswith("lazily_made")]:
        del sys.modules[name]


def imported(package: str) -> object:
    with lazy_packages(f"{package}.types"):
        return __import__(package)


def test_its_modules_can_be_imported_without_it(package: str) -> None:
    made = imported(package)

    assert made.SMALL == 1  # type: ignore[attr-defined]
    assert f"{package}.types.large" not in sys.modules


def test_the_first_use_of_a_name_runs_it(package: str) -> None:
    made = imported(package)

    assert made.types.LARGE == 2  # type: ignore[attr-defined]
    assert type(made.types).__name__ == "module"  # type: ignore[attr-defined]


def test_a_from_import_is_a_use(package: str) -> None:
    imported(package)

    from lazily_made.types import LARGE  # type: ignore[import-not-found]

    assert LARGE == 2


def test_an_unknown_name_is_named(package: str) -> None:
    made = imported(package)

    with pytest.raises(AttributeError, match=r"lazily_made[.]types. has no attribute .nothing"):
        made.types.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_threads_that_use_it_at_once_run_it_once_and_all_get_the_name(package: str) -> None:
    made, got = imported(package), []
    threads = [Thread(target=lambda: got.append(made.types.LARGE)) for _ in range(8)]  # type: ignore[attr-defined]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert got == [2] * 8
    assert made.types.RUNS == 1  # type: ignore[attr-defined]


def test_another_package_of_a_similar_name_is_not_lazy(package: str, tmp_path: Path) -> None:
    other = tmp_path / "lazily_made" / "types_of_others"
    other.mkdir()
    (other / "__init__.py").write_text("RAN = True\n")

    with lazy_packages(f"{package}.types"):
        __import__(f"{package}.types_of_others")

    assert "RAN" in vars(sys.modules[f"{package}.types_of_others"])


def test_names_of_its_modules_are_had_without_it(package: str) -> None:
    with lazy_packages(package):
        provide(f"{package}.types.small", "SMALL MOVED")
        provide(f"{package}.types.moved", "MOVED")
    made = sys.modules[f"{package}.types"]

    assert made.SMALL == 1
    assert f"{package}.types.large" not in sys.modules
    assert made.LARGE == 2
    with pytest.raises(AttributeError, match="MOVED"):
        made.MOVED  # noqa: B018


def test_an_object_for_later_is_made_once_when_it_is_used() -> None:
    made: list[str] = []

    def make() -> str:
        made.append("text")
        return made[-1]

    text = later(make)

    assert not made
    assert (text.upper(), text.title(), made) == ("TEXT", "Text", ["text"])


def test_the_models_client_works_without_the_classes_of_its_api() -> None:
    code = (
        "import sys; from hermes_jobs.llm.openai_sdk import openai; "
        "client = openai.AsyncOpenAI(api_key='none', http_client=openai.DefaultAioHttpClient(verify=False)); "
        "assert client.post; "
        "assert not [name for name in ('openai.types.chat.chat_completion', 'openai.lib.azure', "
        "'httpcore2._sync', 'trio') if name in sys.modules]; "
        "from openai.types.responses import Response; assert Response.model_fields['output']"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
