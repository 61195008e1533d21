"""Commands that leave files without content, however they say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.ports import Verdict
from hermes_jobs.tools.policy import CommandPolicy

from .support import context_in
from .test_policy import PATHS

EMPTIES = r"""
find src -exec truncate -s 0 {} +
find src -exec sed -i '1,$d' {} +
find src -type f -exec cp /dev/null {} \;
find src -type f -exec tee {} + < /dev/null
ls *.py | xargs -I{} cp /dev/null {}
for f in *.py; do : > "$f"; done
for f in src/*; do cat /dev/null > $f; done
for f in *.py; do truncate -s0 $f; done
sed -i '1,$d' *.py
sed -i d b.py
sed -i '/./d' *.py
sed -i -e '$!N;d' -e d b.py
sed -ni '' b.py
sed -i 's/.*//' b.py
sed -i --expr='1,$d' b.py
tee *.py < /dev/null
sponge b.py < /dev/null
perl -i -ne 1 *.py
perl -ni -e 1 b.py
perl -i -pe '$_=""' b.py
ruby -i -ne 1 b.py
shuf -o a.txt /dev/null
shuf -n0 -o a.txt b.py
head -n0 a.txt > b.py
tail -c 0 a.txt > b.py
rsync /dev/null b.py
openssl enc -aes-256-cbc -pass pass:x -in a.txt -out a.txt
openssl base64 -in a.txt -out ./a.txt
""".strip().splitlines()

KEEPS = r"""
sed -i '1d' *.py
sed -i '/^$/d' b.py
sed -i 's/a.*//' b.py
sed -ni '/x/p' b.py
sed -i -n 's/x/y/p' b.py
sed -n '' b.py
perl -i -ne 'print if /x/' b.py
perl -i -pe 's/x/y/' *.py
perl -ne 1 b.py
shuf -n 3 a.txt -o a.txt
sort -o a.txt a.txt
head -n 10 a.txt > b.py
cat a.txt | tee b.py
make | tee /dev/null
openssl enc -aes-256-cbc -pass pass:x -in a.txt -out a.enc
for f in *.log; do : > "$f"; done
find src -exec touch {} +
""".strip().splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.py", "src/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine\n")
    return tmp_path


@pytest.mark.parametrize("command", EMPTIES)
def test_emptying_files_with_content_is_asked_about(folder: Path, command: str) -> None:
    asked = CommandPolicy(paths=PATHS).verdict(command, context_in(folder))
    assert "emptying files" in asked.rule or "deleting folders or many files" in asked.rule


@pytest.mark.parametrize("command", KEEPS)
def test_changing_files_is_not(folder: Path, command: str) -> None:
    assert CommandPolicy(paths=PATHS).verdict(command, context_in(folder)) == Verdict("allow")
