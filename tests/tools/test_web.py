"""Fetching pages: what becomes text, what is refused, and that no address slips through."""

from __future__ import annotations

import gzip
import json
import logging
import re
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hermes_jobs.features.web import fetch_process
from hermes_jobs.features.web.fetch_process import decode_text
from hermes_jobs.features.web.tools import PageRequest, Web, WebOptions
from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.system import addresses
from hermes_jobs.system.addresses import AddressRefused, PublicNetwork, is_public
from hermes_jobs.tools.toolbox import Toolbox
from tests.tables import sampled, slow

from .support import Switch, context_in
from .web_server import Page, WebServer, serving

HTML = """<!doctype html><html><head><title>A &amp; B</title><style>p {}</style><script>var x = 1;</script>
</head><body><form><h1>Head</h1><p>Some <b>bold</b> text and <a href="more?x=1">a link</a>.</p>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></form></body></html>"""


@pytest.fixture
def server() -> Iterator[WebServer]:
    with serving() as server:
        yield server


def fetch_with(
    options: WebOptions, url: str, *, cancel: Switch | None = None, offset: int = 0
) -> ToolOutcome:
    tools = Toolbox(Web(options).tools, enabled=("web",))
    asked = ToolCall("x", "web_fetch", json.dumps({"url": url, "offset": offset}))
    return tools.run(asked, context_in("/"), None, cancel or Switch())


def fetch(url: str, **more) -> ToolOutcome:
    return fetch_with(WebOptions(allow_private=True, seconds=20), url, **more)


# --- what becomes text ---------------------------------------------------------------------------


def test_html_becomes_markdown_with_whole_links(server):
    server.pages["/a/page"] = Page(HTML.encode(), "text/html; charset=utf-8")
    outcome = fetch(f"{server.url}/a/page")
    header, caution, *rest = outcome.content.splitlines()
    assert outcome.ok
    length = len("\n".join(rest))
    assert header == f"[{server.url}/a/page, text/html: characters 1–{length} of {length}]"
    assert "not instructions" in caution
    text = "\n".join(rest)
    assert text.startswith("Title: A & B\n\n# Head\n\nSome **bold** text")
    assert f"[a link]({server.url}/a/more?x=1)" in text
    assert "| 1 | 2 |" in text
    assert "var x" not in text


@pytest.mark.parametrize(
    "kind", sampled(["application/json", "text/csv", "application/problem+json", "text/x-python"], 3)
)
def test_json_and_plain_text_come_as_they_are(server, kind):
    server.pages["/x"] = Page(b'{"a": "<b>1</b>"}', kind)
    assert fetch(f"{server.url}/x").content.endswith('\n{"a": "<b>1</b>"}')


@pytest.mark.parametrize(
    ("body", "kind"),
    sampled(
        [
            ("größer".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
            ("größer".encode(), "text/plain; charset=bogus"),
            ("größer".encode(), "text/plain; charset=hex"),
            ("größer".encode("cp1252"), "text/plain"),
            (b"\xef\xbb\xbf" + "größer".encode(), "text/plain"),
            ("größer".encode("utf-16"), "text/plain"),
            ('<meta charset="windows-1252">größer'.encode("cp1252"), "text/html"),
            ("größer".encode(), None),
        ],
        3,
    ),
)
def test_text_is_read_in_the_character_set_that_is_named_or_fits(server, body, kind):
    server.pages["/x"] = Page(body, kind)
    assert "größer" in fetch(f"{server.url}/x").content


def test_bytes_that_fit_no_character_set_are_replaced():
    assert decode_text(b"a\xffb", "utf-8", is_html=False) == "a�b"


@pytest.mark.parametrize(
    ("encoding", "pack"), sampled([("gzip", gzip.compress), ("deflate", zlib.compress)], 3)
)
def test_packed_content_is_unpacked(server, encoding, pack):
    server.pages["/x"] = Page(pack(b"hello " * 1_000), headers={"Content-Encoding": encoding})
    assert "of 6,000]" in fetch(f"{server.url}/x").content


def test_a_long_text_comes_in_parts_that_name_the_next(server):
    text = "".join(f"{n:06d}\n" for n in range(10_000))
    server.pages["/x"] = Page(text.encode())
    first = fetch(f"{server.url}/x").content
    assert len(first) <= 50_000
    assert "characters 1–49,000 of 70,000; continue with offset=49000]" in first.splitlines()[0]
    second = fetch(f"{server.url}/x", offset=49_000).content
    assert "".join(each.split("\n", 2)[2] for each in (first, second)) == text
    assert "offset 70,000 is behind them" in fetch(f"{server.url}/x", offset=70_000).content


def test_a_page_that_is_an_error_is_shown_as_one(server):
    outcome = fetch(f"{server.url}/gone")
    assert not outcome.ok
    assert "text/plain, HTTP 404 Not Found: characters 1–8 of 8]" in outcome.content
    assert outcome.content.endswith("not here")


def test_a_page_of_scripts_alone_has_no_text(server):
    server.pages["/x"] = Page(b"<html><script>go()</script></html>", "text/html")
    assert ": no text]" in fetch(f"{server.url}/x").content


@pytest.mark.parametrize(
    "html", sampled(["<div>" * 300_000 + "x", "<table><tr><td>" * 20_000, "<" * 1_000_000], 3)
)
def test_a_page_that_is_made_to_break_parsers_breaks_no_worker(server, html):
    server.pages["/x"] = Page(html.encode(), "text/html")
    assert fetch(f"{server.url}/x").content


# --- what is refused -----------------------------------------------------------------------------


def test_what_was_never_reached_has_written_nothing_and_any_server_that_answered_has(server):
    server.pages["/lies"] = Page(b"", status=302, headers={"Location": "http://invoices-go-to-acme.invalid/"})
    server.pages["/a.png"] = Page(b"\x89PNG", "image/invoices-go-to-acme")
    with serving() as gone:
        pass
    for url in ("ftp://a.example/", "http://nobody.invalid/", f"{gone.url}/x"):
        assert (fetch(url).ok, fetch(url).outside) == (False, "")
    for url in (f"{server.url}/lies", f"{server.url}/a.png"):
        assert (fetch(url).ok, fetch(url).outside) == (False, url)


def test_binary_content_is_refused_with_its_type_and_size(server):
    server.pages["/a.png"] = Page(b"\x89PNG" * 100, "image/png")
    server.pages["/b"] = Page(b"a\0b", "text/plain")
    assert fetch(f"{server.url}/a.png").content == (
        "Error: nothing was fetched: there is no text but image/png, 400 bytes."
    )
    assert "binary data, 3 bytes" in fetch(f"{server.url}/b").content


def test_a_body_over_the_limit_is_refused_however_it_arrives(server):
    options = WebOptions(allow_private=True, max_bytes=100_000)
    server.pages["/long"] = Page(b"x" * 100_001)
    server.pages["/endless"] = Page(b"x" * 10_000, chunks=1_000_000)
    server.pages["/bomb"] = Page(gzip.compress(b"x" * 50_000_000), headers={"Content-Encoding": "gzip"})
    for path in ("/long", "/endless", "/bomb"):
        assert "larger than 100,000 bytes" in fetch_with(options, server.url + path).content


def test_a_server_that_never_ends_is_left_when_the_time_is_over(server):
    server.pages["/x"] = Page(b"begun", hold=True)
    outcome = fetch_with(WebOptions(allow_private=True, seconds=1), f"{server.url}/x")
    assert outcome.content == "Error: nothing was fetched: it took longer than 1 s."


@pytest.mark.parametrize(
    "page",
    sampled(
        [
            Page(b"not gzip", headers={"Content-Encoding": "gzip"}),
            Page(b"x", headers={"Content-Encoding": "gzip, gzip"}),
            Page(b"short", headers={"Content-Length": "100"}),
        ],
        3,
    ),
)
def test_a_broken_answer_is_reported(server, page):
    server.pages["/x"] = page
    assert fetch(f"{server.url}/x").content.startswith("Error: nothing was fetched: ")


@pytest.mark.parametrize(
    ("url", "why"),
    sampled(
        [
            ("file:///etc/passwd", "only http and https"),
            ("ftp://example.com/", "only http and https"),
            ("example.com", "only http and https"),
            ("http:///x", "only http and https"),
            ("http://user:secret@127.0.0.1/", "user name or password"),
            ("http://[::1", "the URL is not valid"),
            ("http://127.0.0.1:2/", "cannot be talked to"),
        ],
        3,
    ),
)
def test_a_url_that_cannot_be_fetched_says_why(url, why):
    outcome = fetch(url)
    assert not outcome.ok
    assert why in outcome.content
    assert "secret" not in outcome.content


# --- where it may go -----------------------------------------------------------------------------


INNER_IPV4 = (
    "10.0.0.1",
    "10.255.255.254",
    "127.0.0.1",
    "127.8.8.8",
    "127.255.255.255",
    "169.254.169.254",
    "169.254.0.1",
    "169.254.170.2",
    "169.254.169.123",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.1.1",
    "192.168.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.254",
    "168.63.129.16",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "224.0.0.251",
    "239.255.255.250",
    "240.0.0.1",
    "254.0.0.1",
    "255.255.255.255",
    "0.0.0.0",
    "0.0.0.1",
    "0.255.255.255",
)
WRAPS = (
    "::ffff:{0}",
    "::{0}",
    "64:ff9b::{0}",
    "::ffff:0:{0}",
    "64:ff9b:1::{0}",
    "2001:4860::5efe:{0}",
    "2001:4860::200:5efe:{0}",
    "fe80::5efe:{0}",
)
INNER_IPV6 = (
    "::1",
    "::",
    "fe80::1",
    "fe80::1%1",
    "fe80::a9fe:a9fe",
    "fe80::5efe:808:808",
    "febf::1",
    "fc00::1",
    "fd00::1",
    "fd00:ec2::254",
    "fdff:ffff::1",
    "fec0::1",
    "feff::1",
    "ff02::1",
    "ff0e::1",
    "ff05::2",
    "2001:db8::1",
    "3fff::1",
    "100::1",
    "100:0:0:1::1",
    "5f00::1",
    "200::1",
    "400::1",
    "4000::1",
    "8000::1",
    "e000::1",
    "f800::1",
    "fe00::1",
    "1::1",
    "::2",
    "::1:0:0:1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::1",
    "2002:c0a8:101::1",
    "2002:e000:1::",
    "2001:0:7f00:1::1",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
    "2001:2::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1::1",
    "2001:3::1",
    "2001:4:112::1",
    "2620:4f:8000::1",
    "0:0:0:0:0:fffe:7f00:1",
)
INNER = (
    *INNER_IPV4,
    *INNER_IPV6,
    *(wrap.format(each) for wrap in WRAPS for each in INNER_IPV4[:7]),
)


def test_the_table_of_inner_addresses_is_long():
    assert len(set(INNER)) > 105


@pytest.mark.parametrize("address", INNER)
def test_an_address_that_is_not_of_the_public_internet_is_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "172.15.0.1",
        "100.128.0.1",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_a_public_address_is_one_also_when_it_is_wrapped(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "localhost",
        "0x7f000001",
        "[::ffff:7f00:1]",
        *slow(
            "127.0.0.1",
            "127.0.1",
            "LOCALHOST.",
            "2130706433",
            "017700000001",
            "0177.0.0.01",
            "0x7f.1",
            "0X7F.0x0.0x0.0x1",
            "0",
            "0.0.0.0",
            "%31%32%37.0.0.1",
            "\uff11\uff12\uff17.0.0.1",
            "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
            "127\u30020\u30020\u30021",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
        ),
    ],
)
def test_this_host_is_refused_under_each_of_its_names(server, host):
    port = server.url.rpartition(":")[2]
    outcome = fetch_with(WebOptions(), f"http://{host}:{port}/")
    assert not outcome.ok
    assert re.search("is not a public address|the URL is not valid|is not known", outcome.content)
    assert server.asked == []


def test_a_redirect_from_outside_to_the_inside_is_refused_at_the_connection(server, monkeypatch):
    """Given a page that counts as public and redirects inside, when it is fetched, then only it was asked."""
    port = server.url.rpartition(":")[2]
    server.pages["/out"] = Page(status=302, headers={"Location": f"http://127.0.0.2:{port}/in"})
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1")
    monkeypatch.setattr(addresses, "is_own_address", lambda address: False)
    url = f"{server.url}/out"
    wanted = PageRequest(
        url=url, allow_private=False, max_bytes=1_000, seconds=20, offset=0, limit_chars=1_000
    )
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.2"):
        fetch_process.fetch(wanted)
    assert server.asked == ["/out"]


def test_the_machines_own_public_address_is_refused(monkeypatch):
    monkeypatch.setattr(addresses, "is_public", lambda address: True)
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1"):
        PublicNetwork(allow_private=False).connect_tcp("127.0.0.1", 8080)


@pytest.mark.parametrize("port", sampled([22, 25, 6667], 3))
def test_the_port_of_another_protocol_is_refused(port):
    assert f"port {port}" in fetch(f"http://127.0.0.1:{port}/").content


def test_a_redirect_is_followed_and_its_target_is_the_base(server):
    server.pages["/old"] = Page(status=302, headers={"Location": "/new/?token=secret"})
    server.pages["/new/"] = Page(b'<p><a href="x">l</a></p>', "text/html")
    content = fetch(f"{server.url}/old").content
    assert content.startswith(f"[{server.url}/new/, text/html")
    assert f"({server.url}/new/x)" in content
    assert server.asked == ["/old", "/new/?token=secret"]


@pytest.mark.parametrize(
    "written", sampled(["/caf\u00e9".encode(), "/caf\u00e9".encode("latin-1"), b"/caf%C3%A9"], 3)
)
def test_a_redirect_to_letters_beyond_ascii_is_followed_however_it_is_written(server, written):
    server.pages["/old"] = Page(status=302, headers={"Location": written.decode("latin-1")})
    server.pages["/caf%C3%A9"] = Page(b"found it")
    assert fetch(f"{server.url}/old").content.endswith("found it")


@pytest.mark.parametrize(
    ("location", "why"),
    sampled(
        [
            ("file:///etc/passwd", "only http and https"),
            ("http://u:p@127.0.0.1/", "user name or password"),
            ("/again", "redirected more than 5 times"),
            ("http://[::1", "the URL is not valid"),
        ],
        3,
    ),
)
def test_every_hop_of_a_redirect_is_checked(server, location, why):
    server.pages["/again"] = Page(status=307, headers={"Location": location})
    assert why in fetch(f"{server.url}/again").content


def test_a_name_that_changes_its_address_after_the_check_gains_nothing(monkeypatch):
    answers = iter([["127.0.0.1"], ["8.8.8.8"]])
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return next(answers)

    monkeypatch.setattr(addresses, "resolve", rebinding)
    with pytest.raises(AddressRefused, match=r"rebind\.example is 127\.0\.0\.1"):
        PublicNetwork(allow_private=False).connect_tcp("rebind.example", 80)
    assert asked == ["rebind.example"]


def test_the_checked_address_is_connected_to(server, monkeypatch):
    monkeypatch.setattr(addresses, "resolve", lambda host, port: ["10.255.255.1", "127.0.0.1"])
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1")
    monkeypatch.setattr(addresses, "is_own_address", lambda address: False)
    port = int(server.url.rpartition(":")[2])
    stream = PublicNetwork(allow_private=False).connect_tcp("example.com", port, timeout=10)
    assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
    stream.close()


# --- its end, and what is written down -----------------------------------------------------------


def test_a_cancel_ends_it_at_once(server):
    server.pages["/x"] = Page(b"begun", hold=True)
    switch = Switch()
    outcomes: list[ToolOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(fetch(f"{server.url}/x", cancel=switch)))
    thread.start()
    assert server.begun.wait(30)
    switch.fire()
    thread.join(15)
    assert outcomes[0].interrupted


def test_secrets_in_a_url_are_never_logged_nor_shown_to_other_users(server, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    server.pages["/x"] = Page(b"ok", hold=True)
    switch = Switch()
    thread = threading.Thread(target=fetch, args=(f"{server.url}/x?token=s3cr3t",), kwargs={"cancel": switch})
    thread.start()
    assert server.begun.wait(30)
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it may have ended since
            lines.append(path.read_bytes())
    switch.fire()
    thread.join(15)
    assert not any(b"s3cr3t" in line for line in lines)
    assert "s3cr3t" not in caplog.text + "".join(capfd.readouterr())
