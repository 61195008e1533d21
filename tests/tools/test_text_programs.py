"""Programs of `awk` and `sed`, and files that they and other programs of tables read and write elsewhere."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.ports import Verdict
from hermes_jobs.tools.policy import CommandPolicy

from .keys_support import Person, recording
from .support import context_in
from .test_policy import PATHS, WORKDIR, verdict

RUN = r"""
awk 'BEGIN{f="system"; @f("./x")}'
awk 'BEGIN{f="sys" "tem"; @f("./x")}'
awk '@include "inc.awk"'
gawk --source='BEGIN{system("./x")}'
gawk -e'BEGIN{system("./x")}'
awk 'BEGIN{x=/"/; system("./x"); y=/"/}'
awk 'BEGIN{if(1)/"/; system("./x"); /"/}'
awk 'BEGIN{print /"/; f="system"; @f("./x"); print /"/}'
""".strip().splitlines()
IN_LINES = [
    'awk \'#"\nBEGIN{x=system("./x")}\n#"\'',
    "awk 'BEGIN{x=1 \\\n/ 2; system(\"./x\"); y=1 / 2}'",
]


@pytest.mark.parametrize("command", [*RUN, *IN_LINES])
def test_an_awk_that_runs_a_program_is_asked_about_however_it_is_written(command: str) -> None:
    assert "code on the command line that does more than compute" in verdict(command).rule


EVERYDAY = r"""
awk '$0 ~ /@/ {print}' a.txt
awk -F@ '{print $2}' a.txt
awk '/"/ {n++} END {print n / NR}' a.txt
awk '{gsub(/[/.]/, "_"); print "a@b"}' a.txt
awk '{print ($1+$2)/2, "mean"}' a.txt
awk '{print length($1)/NF; print (a)/b}' a.txt
awk 'BEGIN{while((getline l < "a.txt")>0) n++; print n}'
awk '# a comment with "quotes" and an @
{print $1}' a.txt
awk -v OFS=, -vp=1 '{print $1,$2}' a.txt
sed '/x/r a.txt' b.txt
sed -e 's/@/at/' -e '$d' a.txt
mktemp -d
mktemp -t x.XXXXXX
curl -s -w '%{http_code}' http://127.0.0.1/
""".strip().split("\n")


def test_everyday_programs_of_awk_and_sed_run() -> None:
    joined = "\n".join(EVERYDAY).replace("an @\n", "an @\0").split("\n")
    for command in (each.replace("\0", "\n") for each in joined):
        assert verdict(command) == Verdict("allow"), command


OUTSIDE = r"""
awk -o../.bashrc 'BEGIN{}'
awk -d../.bashrc 'BEGIN{}'
awk -p../.bashrc 'BEGIN{}'
awk --pretty-print=../.bashrc 'BEGIN{}'
tar --index-file=../.bashrc -tvf a.tar
tar -g ../.bashrc -cf x.tar a.txt
wget --warc-file ../w http://example.org/
wget --save-cookies=../w http://example.org/
curl --etag-save ../w http://example.org/
curl -w '%output{../w}x' http://example.org/
unzip -:o a.zip
unzip -o: a.zip
mktemp ../XXXX
mktemp -p .. XXXX
split --additional-suffix=/../../x a.txt
csplit -b '/../../x%d' a.txt 1
""".strip().splitlines()


@pytest.mark.parametrize("command", OUTSIDE)
def test_what_writes_elsewhere_by_rare_options_is_asked_about(command: str) -> None:
    assert "writing outside the working folder" in verdict(command).rule


UNKNOWN_TARGETS = r"""
read f < names; echo evil > $f
f=n;n=../.bashrc;echo evil > ${!f}
printf evil > "$(printf ../.bash%s rc)"
shopt -s lastpipe; echo ../.bashrc | read f; echo evil > $f
while read f; do echo evil >> "$f"; done < names
awk '{print > "out" $1}' names
""".strip().splitlines()


def test_without_a_sandbox_a_file_that_is_written_has_a_known_name() -> None:
    alone = CommandPolicy(paths=PATHS, is_confined=lambda: False)
    for command in UNKNOWN_TARGETS:
        assert alone.verdict(command, context_in(WORKDIR)).decision == "ask", command
    for command in ("n=$(wc -l < a.txt); echo x > out-$n.txt", "for i in 1 2; do date > log$i; done"):
        assert alone.verdict(command, context_in(WORKDIR)).decision == "allow", command


READ = r"""
awk 'BEGIN{f="../.ss" "h/id_ed25519"; while((getline l<f)>0) print l}'
awk '{while((getline l<$0)>0) print l}' names
awk 'BEGIN{ARGV[1]="../.ss" "h/id_ed25519";ARGC=2}{print}'
awk 'BEGIN{while((getline l < "lnk")>0) print l}'
sed 'r lnk' a.txt
sed -n 'R lnk' a.txt
sed --expr='$r lnk' a.txt
x=$(cat sub); sed "$x" a.txt
x=$(cat sub); awk "$x" a.txt
""".strip().splitlines()
UNPACKED = (
    "tar xf evil.tar; cat tl|tar xf evil.tar && head -c 99 < tl|mkdir d && tar xf evil.tar -C d; cat d/tl"
)


def test_without_a_sandbox_no_program_of_awk_or_sed_reads_a_key_unattended(tmp_path: Path) -> None:
    """Given an attacker's folder without a sandbox, when nobody can be asked, then no key is shown and
    nothing of the person's is changed."""
    with recording() as recorder:
        person = Person(tmp_path.resolve(), recorder.port, mode="off")
        bashrc = person.write(person.folder / ".bashrc", "mine\n")
        person.write("a.txt", "a\n")
        person.write("names", "../.bashrc\n")
        person.write("sub", "r../.ssh/id_ed25519\n")
        person.write("inc.awk", 'BEGIN{system("./x")}')
        person.thief("x")
        with tarfile.open(person.work / "evil.tar", "w") as archive:
            linked = tarfile.TarInfo("tl")
            linked.type, linked.linkname = tarfile.SYMTYPE, "../.ssh/id_ed25519"
            archive.addfile(linked)
        for command in UNPACKED.split("|"):
            assert "NEEDLE" not in person.run(command, attended=False).content, command
            (person.work / "tl").unlink(missing_ok=True)
            assert not (person.work / "d/tl").is_symlink()
        (person.work / "lnk").symlink_to("../.ssh/id_ed25519")
        for command in (*READ, *RUN, *IN_LINES, *OUTSIDE[:6], *UNKNOWN_TARGETS):
            assert "NEEDLE" not in person.run(command, attended=False).content, command
            assert (recorder.keys, bashrc.read_text()) == ([], "mine\n"), command
        for plain in ("awk '{print $1}' a.txt", "sed -n 1p a.txt", "tar tf evil.tar | head -1", "cat a.txt"):
            assert person.run(plain, attended=False).ok, plain
        person.close()
