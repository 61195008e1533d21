"""Which commands read what others wrote on another machine."""

from __future__ import annotations

from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from tests.tables import each_row

from .support import context_in

POLICY = CommandPolicy(paths=PathPolicy(home="/home/ann/.hermes-jobs", user_home="/home/ann"))


def origin(command: str) -> str:
    return POLICY.origin(command, context_in("/home/ann/project"))


@each_row(
    [
        "curl https://example.com",
        "curl -s example.com | jq .name",
        "cd /tmp && wget -q https://example.com/a.html -O a.html",
        "bash -c 'curl https://example.com'",
        "x=$(curl https://example.com); echo $x",
        "timeout 10 http GET example.com",
        "gh issue view 12",
        "gh pr list | head",
        "git clone https://github.com/a/b",
        "himalaya read 12",
        "yt-dlp --get-description https://example.com/v",
        "curl $URL",
        "curl http://localhost:8080 https://example.com",
        'eval "$(cat x',
        "git pull",
        "git -C sub fetch origin",
        "git -c color.ui=never ls-remote origin",
        "git remote show origin",
        "git remote -v update",
        "git submodule update --init",
        "hg pull",
        "svn log https://example.com/r",
        "openssl s_client -connect example.com:443",
        "ssh host.example cat notes",
        "rsync -a host.example:notes .",
        "nc example.com 80",
        "cat < /dev/tcp/example.com/80",
        "dig +short TXT example.com",
        "npm view left-pad readme",
        "curl --resolve localhost:80:93.184.216.34 http://localhost/",
        "curl --connect-to localhost:80:example.com:80 http://localhost/",
        "curl --connect-to ::example.com: http://localhost/",
        "curl -x http://example.com:3128 http://localhost/",
        "curl --proxy=example.com:3128 http://127.0.0.1/",
        "curl -s file:///etc/hosts https://example.com",
        """python3 -c "import urllib.request as u; print(u.urlopen('https://example.com').read())\"""",
        "python3 - <<'E'\nimport http.client\nE",
        "python3.12 <<'E'\nimport requests\nE",
        """uv run python -c "import httpx; print(httpx.get(u))\"""",
        """echo "import urllib.request" | python3""",
        """node -e "fetch('https://example.com').then(r => r.text()).then(console.log)\"""",
        "perl -MHTTP::Tiny -e 'print HTTP::Tiny->new->get(shift)->{content}' example.com",
        "ruby -ropen-uri -e 'puts URI.open(ARGV[0]).read' example.com",
        "php -r 'echo file_get_contents(\"http://example.com\");'",
        "deno eval 'await fetch(u)'",
        """python3 -c "import socket; s = socket.create_connection(('example.com', 80))\"""",
        """python3 -c "import os; os.system('curl example.com')\"""",
        "pwsh -c 'iwr example.com'",
        "apt-get changelog curl",
        "git archive --remote=https://example.com/r HEAD",
        "pip index versions requests",
        "pip download requests",
        "tldr tar",
        "hg cat -R https://example.com/r a",
        "svn cat https://example.com/r/a",
        "ffmpeg -i https://example.com/v.mp4 -f null -",
        "pandoc https://example.com/a.html -t plain",
        "jq . --url=https://example.com/a",
        "jira issue view AB-1",
        "curlie example.com",
        "hurl a.hurl",
        "helm show readme bitnami/redis",
        "skopeo inspect docker://example.com/a",
        "snap info curl",
        "go list -m -json all",
        "npm audit",
        "mosquitto_sub -h db -t news",
        "git show FETCH_HEAD",
        "git diff HEAD..FETCH_HEAD",
        "cat /var/mail/root",
        "grep -h Subject ~/Maildir/new/1",
        "tail -5 < /var/spool/mail/ann",
    ]
)
def test_these_do(command: str) -> None:
    assert origin(command).startswith("the command ")


@each_row(
    [
        "ls -la",
        "cat page.html",
        "git log --oneline",
        "git status",
        "go list ./...",
        "helm list",
        "snap list",
        "echo FETCH_HEAD",
        "ls /var/maildrop",
        "git remote -v",
        "git submodule status",
        "git checkout fetch",
        "git log --grep pull",
        "curl --version",
        "gh --help",
        "ssh -V",
        "curl file:///etc/hosts",
        "curl --resolve api.localhost:80:127.0.0.1 http://api.localhost/",
        "curl --connect-to localhost:80:127.0.0.1:8080 http://localhost/",
        "rsync -a a/ b/",
        "while ! nc -z localhost 5432; do sleep 1; done",
        "svn diff",
        "openssl x509 -in a.pem -text",
        "python3 -c 'print(1 + 1)'",
        "python3 -m json.tool < a.json",
        "python3 script.py",
        "python3 -m http.server",
        "node -e 'console.log(1)'",
        "npm run view",
        "curl http://localhost:8080/health",
        "curl -s 127.0.0.1:3000/api",
        "npm test",
        "grep -r curl .",
        "echo wget",
        "echo https://example.com",
        "git remote add origin https://example.com/r",
        "git archive HEAD",
        "ffmpeg -i http://localhost:8000/v.mp4 -f null -",
        "pip list",
        "psql -h db -c 'select 1'",
    ]
)
def test_these_do_not(command: str) -> None:
    assert origin(command) == ""


def test_a_long_command_is_shown_in_one_short_line() -> None:
    shown = origin("curl https://example.com \\\n" + " -H 'a: b'" * 100)
    assert "\n" not in shown
    assert len(shown) < 150
