"""One web page as text, in a subprocess of `subprocess_call`.

A hostile page can exhaust or crash the parser there, and a name server may not respond, without harm.
"""

from __future__ import annotations

import codecs
import os
import re
import resource
import signal
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress

import httpcore2
import msgspec
from httpx2 import URL, InvalidURL

from hermes_jobs.features.web.tools import FetchedPage, PageRequest
from hermes_jobs.system.addresses import AddressRefused, PublicNetwork
from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.subprocess_call import REQUEST, respond

MAX_REDIRECTS = 5
UNREACHED = (httpcore2.ConnectError, httpcore2.ConnectTimeout)
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_MEMORY = 2 * 1024**3
SNIFFED = 4_096
HEADERS: Mapping[str | bytes, str | bytes] = {
    "User-Agent": "Mozilla/5.0 (compatible; hermes-jobs)",
    "Accept": "text/html, text/plain, application/json, text/*;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
TEXTUAL = re.compile(r"text/.*|application/(.*\+)?(json|xml|yaml|javascript|ecmascript|x-ndjson|toml|sql)")
HTML = frozenset({"text/html", "application/xhtml+xml"})
DECLARED = re.compile(rb"<meta[^>]+charset=[\"']?([A-Za-z0-9_:.-]+)", re.IGNORECASE)
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class UnusablePage(Exception):
    """A response without usable text. The message is the reason."""


class FetchOutOfTime(BaseException):
    """The time limit has passed."""


def main() -> None:
    """Handle the request in the environment."""
    page = msgspec.json.decode(os.environ[REQUEST], type=described(PageRequest))
    with suppress(ValueError, OSError):  # not every system has it
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.alarm(page.seconds)
    redirects: list[str] = []
    try:
        fetched = fetch(page, redirects)
    except (AddressRefused, UnusablePage) as error:
        unread = isinstance(error, AddressRefused) and not redirects
        fetched = FetchedPage(wrong=str(error), unread=unread)
    except InvalidURL as error:
        fetched = FetchedPage(wrong=f"the URL is not valid: {error}.")
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as error:
        what = type(error).__name__
        fetched = FetchedPage(
            wrong=f"the server cannot be talked to ({what}{f': {error}' if str(error) else ''}).",
            unread=isinstance(error, UNREACHED) and not redirects,
        )
    except FetchOutOfTime:
        fetched = FetchedPage(wrong=f"it took longer than {page.seconds} s.")
    except (MemoryError, RecursionError):
        fetched = FetchedPage(wrong="the page is too complex: it ran out of memory.")
    signal.alarm(0)
    respond(msgspec.to_builtins(fetched))


def _on_alarm(_number: int, _frame: object) -> None:
    raise FetchOutOfTime


def fetch(request: PageRequest, redirects: list[str] | None = None) -> FetchedPage:
    """Follow redirects, each checked like the first, and return the requested part of the text. Where servers
    redirected to is added to `redirects`.

    Raises `UnusablePage` where the page cannot be used, `FetchOutOfTime`, and what httpcore2 raises.
    """
    network = PublicNetwork(allow_private=request.allow_private)
    url = URL(request.url)
    for _ in range(MAX_REDIRECTS + 1):
        _check(url)
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), float(request.seconds))
        with (
            httpcore2.ConnectionPool(network_backend=network, max_connections=1) as pool,
            pool.stream("GET", target, headers=HEADERS, extensions={"timeout": timeout}) as response,
        ):
            headers = {name.decode().lower(): _header(value) for name, value in response.headers}
            location = headers.get("location")
            if response.status not in REDIRECTS or not location:
                return _read(request, url, response, headers)
            url = url.join(location)
            if redirects is not None:
                redirects.append(location)
    raise UnusablePage(f"it was redirected more than {MAX_REDIRECTS} times.")


def _header(value: bytes) -> str:
    """A header's text: by its standard Latin-1, but servers write UTF-8, above all in `Location`."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _check(url: URL) -> None:
    if url.scheme not in ("http", "https") or not url.host:
        raise AddressRefused(f"only http and https URLs with a host are fetched, not {url.scheme or 'this'}.")
    if url.userinfo:
        raise AddressRefused("a URL with a user name or password is not fetched.")


def _read(
    request: PageRequest, url: URL, response: httpcore2.Response, headers: dict[str, str]
) -> FetchedPage:
    content_type, charset = _parsed_type(headers.get("content-type", ""))
    length = headers.get("content-length", "")
    if content_type and not TEXTUAL.fullmatch(content_type) and content_type not in HTML:
        size = f"{int(length):,} bytes" if length.isdecimal() else "of unknown size"
        raise UnusablePage(f"there is no text but {content_type}, {size}.")
    body = _body(response, headers.get("content-encoding", ""), request.max_bytes)
    if b"\0" in body[:SNIFFED] and not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnusablePage(f"there is no text but binary data, {len(body):,} bytes.")
    is_html = content_type in HTML or (not content_type and _looks_like_html(body))
    text = decode_text(body, charset, is_html=is_html)
    if is_html:
        text = extract_markdown(text, str(url))
    return FetchedPage(
        url=f"{url.scheme}://{url.netloc.decode()}{url.path}",
        status=response.status,
        content_type=content_type or "no type named",
        text=text[request.offset : request.offset + request.limit_chars],
        length=len(text),
    )


def _parsed_type(text: str) -> tuple[str, str | None]:
    content_type, _, parameters = text.partition(";")
    charset = re.search(r"charset=[\"']?([^\s\"';]+)", parameters, re.IGNORECASE)
    return content_type.strip().lower(), charset[1] if charset else None


def _body(response: httpcore2.Response, encoding: str, maximum: int) -> bytes:
    """The unpacked content; stops soon after `maximum` bytes."""
    inflated = b""
    for piece in _unpacked(response.iter_stream(), encoding.strip().lower(), maximum):
        inflated += piece
        if len(inflated) > maximum:
            raise UnusablePage(f"it is larger than {maximum:,} bytes. Fetch a part of it by other means.")
    return inflated


def _unpacked(chunks: Iterator[bytes], encoding: str, maximum: int) -> Iterator[bytes]:
    if encoding in ("", "identity"):
        yield from chunks
        return
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UnusablePage(f"its encoding is not known: {encoding}.")
    unpack = zlib.decompressobj(32 + zlib.MAX_WBITS)  # gzip or zlib, as its header says
    try:
        for chunk in chunks:
            yield unpack.decompress(chunk, maximum + 1)
    except zlib.error as error:
        raise UnusablePage(f"it is broken: {error}.") from error


def _looks_like_html(body: bytes) -> bool:
    return body[:SNIFFED].lstrip().lower().startswith((b"<!doctype html", b"<html", b"<head", b"<body"))


def decode_text(body: bytes, charset: str | None, *, is_html: bool) -> str:
    """The text in the character set that mark, header or page name; else UTF-8, or Windows-1252."""
    marked = next((name for mark, name in MARKS if body.startswith(mark)), None)
    declared = DECLARED.search(body[:SNIFFED]) if is_html else None
    charset_name = marked or charset or (declared[1].decode() if declared else None)
    if charset_name is not None:
        with suppress(LookupError, UnicodeError):
            return body.decode(
                "cp1252" if charset_name.lower() in ("iso-8859-1", "latin1") else charset_name, "replace"
            )
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def extract_markdown(html: str, url: str) -> str:
    """The page as Markdown, links made absolute; without navigation, unless there is nothing else."""
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    def converted(html: str, *, cleaned: bool) -> str:
        options = ConversionOptions(
            base_url=url,
            extract_metadata=False,
            skip_images=True,
            # Many pages are one large form.
            preprocessing=PreprocessingOptions(enabled=cleaned, remove_forms=False),
        )
        return (convert(html, options).content or "").strip()

    text = converted(html, cleaned=True) or converted(html, cleaned=False)
    title = _title(html[: 1 << 16])
    name = " ".join(converted(title, cleaned=True).split()) if title else ""
    return f"Title: {name}\n\n{text}" if name else text


def _title(html: str) -> str:
    """The content of the first `title` element; empty if there is none."""
    opened = re.search(r"<title(?:\s[^<>]*)?>", html, re.IGNORECASE)
    closed = re.compile("</title>", re.IGNORECASE).search(html, opened.end()) if opened else None
    return html[opened.end() : closed.start()] if opened and closed else ""


if __name__ == "__main__":
    main()
