"""Programs that act on more than this machine's files: clouds, clusters, databases, registries, the web."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping

from hermes_jobs.agent.tools.arguments import values
from hermes_jobs.agent.tools.invocations import Invocation
from hermes_jobs.agent.tools.word_lists import words
from hermes_jobs.agent.tools.words import UNKNOWN

CONTROLLERS = frozenset(
    words(
        """
            aws gcloud gsutil bq az doctl heroku flyctl fly vercel netlify firebase wrangler terraform tofu
            terragrunt pulumi ansible ansible-playbook oc gh glab hub hcloud linode-cli eksctl cdk
            serverless sls sam cf vault consul nomad rclone s3cmd s3cmd s5cmd mc b2 restic borg railway
            supabase stripe twilio oci ibmcloud aliyun tccli scw vultr-cli cloudflared ngrok argocd flux
            istioctl kops kubeadm minikube kind k3d vagrant virsh multipass lxc incus qm pct packer op bw
            lpass pass gopass keyring secret-tool
            """
    )
)
"""Programs whose verb says whether they only look."""

LOOKING = frozenset(
    words(
        """
            list ls lists get describe show status info version help logs log plan validate fmt ps images
            inspect diff view whoami search top explain history events output providers graph schema lint
            doctor check checks watch tree cat head stat size du count exists wait test preview
            current-context get-contexts refs env-list list-images api-resources cluster-info use-context
            size about listremotes docs completion bug-report
            """
    )
)
_LOOKING_PREFIX = re.compile(r"(?:list|describe|get|show|head|view|batch-get|lookup)(?:-|$)")
_REVEALS = re.compile(
    r"secret|password|credential|access-token|print-access|session-token|login|auth.token|kubeconfig"
)

DATABASES = frozenset(
    words(
        """
            psql mysql mariadb sqlite3 sqlcmd mongosh mongo clickhouse-client cqlsh duckdb
            influx neo4j cypher-shell
"""
    )
)
_DATABASE_TOOLS = frozenset(
    words(
        """
            dropdb dropuser createuser mysqladmin pg_restore pg_dropcluster mongorestore
            pg_resetwal mysql_upgrade
"""
    )
)
_READS_SQL = re.compile(
    r"\s*(?:select|show|explain|describe|desc|pragma|with|values|table|use|\\[a-z+]+|\.(?:tables|schema|mode|headers?"
    r"|indexes|databases|dump|width|help|quit|exit|stats|timer|nullvalue|separator|fullschema|show|echo)\b|--|$)",
    re.IGNORECASE,
)
_ACTS_SQL = re.compile(
    r"\b(?:drop|delete|truncate|update|alter|grant|revoke|copy|attach|vacuum|reindex|shutdown|kill|load_file|into\s+"
    r"(?:out|dump)file|pg_read_\w+|pg_ls_\w+|lo_export|lo_import|load_extension|writefile|readfile|edit|dropDatabase"
    r"|deleteMany|deleteOne|remove|xp_cmdshell|pg_terminate_backend|pg_sleep|setval|set\s+password)\b"
    r"|\\(?:!|copy|o|g|w)|^\s*\.(?:shell|system|output|once|import|load|open|read|backup|restore|save|clone|excel|log)"
    r"|\bprogram\b",
    re.IGNORECASE | re.MULTILINE,
)
_LOCAL_ACTS_SQL = re.compile(
    r"\s*(?:create|insert|begin|commit|replace|alter\s+table\s+\w+\s+add|update)\b", re.I
)
_REDIS_READS = frozenset(
    words(
        """
            ping get mget keys scan info dbsize exists type ttl pttl strlen llen lrange lindex hget hgetall
            hkeys hvals hlen hmget hscan hexists smembers sismember scard sscan zrange zscore zcard zrank
            zscan xlen xrange xinfo memory object time echo command client latency slowlog lastsave getrange
            zcount bitcount
            """
    )
)
_RUNNERS = frozenset(
    words(
        """
            python manage.py django-admin flask rails rake bundle php artisan npx npm yarn pnpm bunx prisma
            knex sequelize typeorm alembic flyway liquibase mix dotnet dbmate goose drizzle-kit make just
            task mvn gradle
            """
    )
)
_CLEANERS = frozenset(words("make mvn gradle just task mix dotnet npm yarn pnpm"))
_RESETS = re.compile(
    r"(?:db:(?:drop|reset|purge|wipe|rollback)\S*|migrate:(?:fresh|reset|refresh|rollback)|flush|sqlflush|reset_db"
    r"|downgrade|clean|drop-all|ecto\.(?:drop|reset)|flushdb|flushall|nuke|uninstall|deploy\S*|publish\S*|release\S*"
    r"|upload\S*|destroy\S*)$"
)
_PUBLISHES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("npm", "yarn", "pnpm", "bun"),
        frozenset(
            words(
                """
            publish unpublish login logout adduser token deprecate owner access dist-tag team
            hook
"""
            )
        ),
    ),
    "twine": frozenset(words("upload register")),
    "cargo": frozenset(words("publish yank login owner")),
    "gem": frozenset(words("push yank owner signin")),
    "poetry": frozenset(("publish",)),
    "uv": frozenset(("publish",)),
    "flit": frozenset(("publish",)),
    "hatch": frozenset(("publish",)),
    "vsce": frozenset(("publish",)),
    "mvn": frozenset(("deploy",)),
    "gradle": frozenset(("publish",)),
    "goreleaser": frozenset(("release",)),
    "huggingface-cli": frozenset(words("upload login repo delete-cache")),
}
_MAILERS = frozenset(
    words(
        """
            mail mailx sendmail mutt msmtp swaks ssmtp s-nail ntfy telegram-send lt localtunnel
            zerotier-cli
"""
    )
)
_METADATA = re.compile(
    r"metadata\.(?:google|goog|azure)|169\.254\.|fd00:ec2|100\.100\.100\.200|168\.63\.129\.16|instance-data"
    r"|0xa9fe|2852039166|\[?::ffff:a9fe|0251\.0376|::ffff:169\.254",
    re.IGNORECASE,
)
_URL_HOST = re.compile(
    r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^/@\s]*@)?(?P<host>\[[^\]]+\]|[^/:?#\s]+)", re.IGNORECASE
)
WEB = frozenset(words("curl wget http https httpie xh aria2c lynx w3m links"))
_ASKING = WEB | frozenset(words("dig nslookup host ping ping6 traceroute whois drill nmap"))


def controls(invocation: Invocation) -> bool:
    """Whether a program that rules clouds, clusters or stores of secrets is to do more than look."""
    if invocation.name not in CONTROLLERS or invocation.has("--help", "--version"):
        return False
    if invocation.name in ("ansible-playbook",):
        return not invocation.has("--check", "--syntax-check", "--list-tasks", "--list-hosts", "-C")
    operands = invocation.operands
    if not operands:
        return False
    if invocation.name in ("pass", "gopass", "keyring", "secret-tool", "op", "bw", "lpass"):
        return operands[0] not in ("ls", "list", "find", "search", "status", "help")
    if any(_REVEALS.search(each) for each in operands) and operands[:2] not in (
        ("auth", "status"),
        ("auth", "list"),
    ):
        return True
    if invocation.name == "gh" and operands[0] == "api":
        methods = values(invocation, "X", "--method")
        return any(each.upper() != "GET" for each in methods) or invocation.has(
            "-f", "-F", "--field", "--input"
        )
    if (invocation.name, *operands[:1]) in (("rclone", "copy"), ("gh", "alias")):
        return True
    return not any(each in LOOKING or _LOOKING_PREFIX.match(each) for each in operands[:4])


def changes_database(invocation: Invocation) -> bool:
    """Whether a database's client, or a project's own commands, change or delete data."""
    name = invocation.name
    if name in _DATABASE_TOOLS:
        return True
    if name in ("redis-cli", "valkey-cli"):
        return _redis_acts(invocation)
    if name in DATABASES:
        return _sql_acts(invocation)
    plain = re.sub(r"[\d.]+$", "", name)
    if plain not in _RUNNERS or "-m" in invocation.arguments:
        return False
    tasks = set(invocation.operands[:4])
    return any(_RESETS.match(each) for each in tasks - ({"clean"} if plain in _CLEANERS else set()))


def _redis_acts(invocation: Invocation) -> bool:
    rest = list(invocation.arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-h", "-p", "-n", "-a", "-u", "-s", "--user", "--pass", "-r", "-i") and rest:
            rest.pop(0)
        elif option in ("--eval", "--pipe", "--rdb", "--functions-rdb", "-x"):
            return True
    if not rest:
        return invocation.piped or bool(invocation.input)
    if rest[0].lower() == "config":
        return [each.lower() for each in rest[1:2]] != ["get"]
    return rest[0].lower() not in _REDIS_READS


def _sql_acts(invocation: Invocation) -> bool:
    local = invocation.name in ("sqlite3", "duckdb")
    fed = any(each.operator == "<" for each in invocation.redirects)
    if (fed or invocation.has("-f", "--file")) and not local:
        return True
    statements = values(invocation, "ceq", "--command", "--execute", "--eval", "--query", "-cmd")
    if local:
        statements += invocation.operands[1:]
    if invocation.input:
        statements.append(invocation.input)
    if not statements and invocation.piped:
        return True
    return any(_acts(each, local=local) for each in statements)


def _acts(statement: str, *, local: bool) -> bool:
    if UNKNOWN in statement and not statement.replace(UNKNOWN, "").strip():
        return True
    if local:  # a file of the project: what only adds is everyday work
        return bool(
            re.sub(r"\bupdate\b", "", statement, flags=re.I)
            and _ACTS_SQL.search(re.sub(r"\b(?:update|alter)\b", "", statement, flags=re.IGNORECASE))
        )
    parts = [each for each in re.split(r"[;\n]", statement) if each.strip()]
    return bool(_ACTS_SQL.search(statement)) or not all(
        _READS_SQL.match(each)
        or re.match(r"\s*db\.\w+\.(?:find|count\w*|aggregate|stats|distinct)", each)
        or re.match(
            r"\s*(?:from|where|join|group|order|limit|and|or|on|left|right|inner|having|union|\)|\w+,)",
            each,
            re.I,
        )
        for each in parts
    )


def publishes(invocation: Invocation) -> bool:
    """Whether it publishes a package, or runs a project's task that does."""
    verbs = _PUBLISHES.get(invocation.name, frozenset())
    if re.fullmatch(r"python[\d.]*", invocation.name) and {"twine", "upload"} & set(invocation.operands[:2]):
        return True
    return not verbs.isdisjoint(invocation.operands[:2]) or invocation.name in _MAILERS


def sends_data(invocation: Invocation, *, substitutes: bool) -> bool:
    """Whether it sends files or data to another machine, or asks one with what the shell fills in.

    `substitutes`: the line holds a command substitution.
    """
    if invocation.name in _ASKING and substitutes and any(UNKNOWN in each for each in invocation.arguments):
        return True
    checks: Mapping[str, Callable[[Invocation], bool]] = {
        "curl": _curl_sends,
        "wget": lambda wget: wget.has("--post-file", "--body-file", "--post-data", "--body-data", "--method"),
        "http": _httpie_sends,
        "https": _httpie_sends,
        "xh": _httpie_sends,
        "openssl": _openssl_sends,
    }
    check = checks.get(invocation.name)
    return check is not None and check(invocation) and not _is_here(invocation)


def reaches_inside(invocation: Invocation) -> bool:
    """Whether it names a cloud's metadata service, or a socket of a service on this machine."""
    if invocation.has("--unix-socket", "--abstract-unix-socket"):
        return True
    if any(re.search(r"/(?:docker|podman|containerd|crio)\.sock\b", each) for each in invocation.arguments):
        return True
    texts = (*invocation.arguments, invocation.input)
    return any(_METADATA.search(each) for each in texts) and invocation.name not in (
        "echo",
        "grep",
        "rg",
        "printf",
    )


def _curl_sends(curl: Invocation) -> bool:
    if curl.has(
        "-T",
        "--upload-file",
        "-F",
        "--form",
        "--form-string",
        "-n",
        "--netrc",
        "-K",
        "--config",
        "--mail-from",
    ):
        return True
    if curl.has("-G", "--get") and not any("@" in each for each in curl.arguments):
        return False
    if any(each.startswith(("--data", "--json")) for each in curl.arguments):
        return True
    if any(re.match(r"-[a-zA-Z]*d", each) for each in curl.arguments if not each.startswith("--")):
        return True
    methods = values(curl, "X", "--request")
    if any(each.upper() not in ("GET", "HEAD", "OPTIONS") for each in methods):
        return True
    return any(re.search(r"^(?:-H|--header)?=?@", each) for each in curl.arguments)


def _openssl_sends(openssl: Invocation) -> bool:
    fed = (
        openssl.piped
        or openssl.input
        or any("<" in each.operator and each.target != "/dev/null" for each in openssl.redirects)
    )
    return openssl.operands[:1] == ("s_server",) or (openssl.operands[:1] == ("s_client",) and bool(fed))


def _httpie_sends(http: Invocation) -> bool:
    verbs = {each for each in http.operands if re.fullmatch(r"[A-Z]+", each)}
    return bool(verbs - {"GET", "HEAD", "OPTIONS"}) or any(
        re.match(r"[\w-]+(?::?=@?|@)", each) for each in http.operands[1:]
    )


def _is_here(invocation: Invocation) -> bool:
    """Whether each host that it names is this machine, and no file is sent."""
    skipped = set(
        values(
            invocation, "dFHXoAbcDeuTm", "--data", "--json", "--header", "--request", "--output", "--form",
            "--data-raw", "--data-binary", "--data-urlencode", "--max-time", "--user", "--cookie",
        )
    )  # fmt: skip
    hosts = [
        match["host"].strip("[]").lower()
        for each in invocation.operands
        if each not in skipped and (match := _URL_HOST.match(each)) and re.search(r"[.:/]|localhost", each)
    ]
    return bool(hosts) and all(map(_is_loopback, hosts))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback or host == "0.0.0.0"
    except ValueError:
        return False
