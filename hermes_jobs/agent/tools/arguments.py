"""Reading the arguments of a program: values of its options, and the files that it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hermes_jobs.agent.tools.invocations import Invocation

_IN_PLACE = re.compile(r"-[nrEsuzlapwFX\d]*i|--in-place")  # alone or in a cluster, as in `perl -pi`
_OUTPUT = re.compile(
    r"--(?:out(?:put)?(?:-?(?:dir|file|path|document))?|outDir|target-directory)(?:=(.*))?", re.S
)


def values(invocation: Invocation, short: str = "", *long: str) -> list[str]:
    """The values of options: of short ones by letter, also in a cluster, and of `--long` ones."""
    found: list[str] = []
    arguments = invocation.arguments
    for index, each in enumerate(arguments):
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        if each.startswith("--"):
            name, given, value = each.partition("=")
            if name in long:
                found.append(value if given else following)
        elif each.startswith("-") and (at := _letter(each, short)):
            found.append(each[at + 1 :] or following)
    return found


def _letter(cluster: str, letters: str) -> int:
    return next((at for at, each in enumerate(cluster) if at and each in letters), 0)


def written_paths(invocation: Invocation) -> list[str]:
    """The words that name files which the invocation writes or deletes, as far as its program is known."""
    targets = [
        each.target
        for each in invocation.redirects
        if ">" in each.operator and not each.target.isdigit() and each.target != "-"
    ]
    if reader := _WRITERS.get(re.sub(r"(?<=\D)[\d.]+$", "", invocation.name)):
        targets += [each for each in reader(invocation) if each]
    targets += _outputs(invocation.arguments)
    return targets


def _outputs(arguments: Sequence[str]) -> Iterator[str]:
    for index, each in enumerate(arguments):
        if match := _OUTPUT.fullmatch(each):
            yield match[1] if match[1] is not None else next(iter(arguments[index + 1 :]), "")


def _all(invocation: Invocation) -> Sequence[str]:
    return invocation.operands


def _after_first(invocation: Invocation) -> Sequence[str]:
    return invocation.operands[1:]


def _second(invocation: Invocation) -> Sequence[str]:
    return invocation.operands[1:2]


def _parts(invocation: Invocation) -> Sequence[str]:
    """The beginning of the names of what `split` writes."""
    valued = values(invocation, "blnaCt", "--bytes", "--lines", "--number", "--suffix-length")
    return [each for each in invocation.operands if each not in valued][1:2]


def _of(short: str, *long: str) -> Callable[[Invocation], Sequence[str]]:
    return lambda invocation: values(invocation, short, *long)


def _copied(invocation: Invocation) -> Sequence[str]:
    into = values(invocation, "t", "--target-directory")
    return into or (invocation.operands[-1:] if len(invocation.operands) > 1 else ())


def _moved(invocation: Invocation) -> Sequence[str]:
    return (*invocation.operands, *_copied(invocation))


def _edited(invocation: Invocation) -> Sequence[str]:
    if not any(_IN_PLACE.match(each) for each in invocation.arguments):
        return ()
    scripts = values(invocation, "ef", "--expression", "--file")
    files = [each for each in invocation.operands if each not in scripts]
    return files if scripts else files[1:]


def _packed(invocation: Invocation) -> Sequence[str]:
    """The archive that `tar` makes, or the folder that it unpacks to."""
    first = next(iter(invocation.arguments), "")
    letters = first.lstrip("-") if not first.startswith("--") else ""
    makes = any(each in letters for each in "cruA") or invocation.has("--create", "--append", "--update")
    if makes:
        old_style = [] if first.startswith("-") or "f" not in letters else list(invocation.arguments[1:2])
        return [*old_style, *values(invocation, "f", "--file")]
    if invocation.has("-P", "--absolute-names"):
        return ["/"]
    return values(invocation, "C", "--directory", "--one-top-level")


def _squeezed(invocation: Invocation) -> Sequence[str]:
    return () if invocation.has("-c", "-t", "-l", "--stdout", "--test", "--list") else invocation.operands


def _environment(invocation: Invocation) -> Sequence[str]:
    """The folder in which `python -m venv` makes one."""
    arguments = invocation.arguments
    at = next((i for i, each in enumerate(arguments) if each in ("venv", "virtualenv")), None)
    if at is None or arguments[at - 1 : at] != ("-m",):
        return ()
    return [each for each in arguments[at + 1 :] if not each.startswith("-")]


def _found(invocation: Invocation) -> Sequence[str]:
    """The files into which `find` prints."""
    arguments = invocation.arguments
    return [
        arguments[at + 1]
        for at, each in enumerate(arguments[:-1])
        if each in ("-fprint", "-fprint0", "-fprintf", "-fls")
    ]


def _linked(invocation: Invocation) -> Sequence[str]:
    return [value for each in ("-o", "-out") for value in _after(invocation, each)] + values(invocation, "o")


def _after(invocation: Invocation, word: str) -> Sequence[str]:
    arguments = invocation.arguments
    return [arguments[at + 1] for at, each in enumerate(arguments[:-1]) if each == word]


_WRITERS: Mapping[str, Callable[[Invocation], Sequence[str]]] = {
    **dict.fromkeys(
        (
            "tee",
            "ed",
            "ex",
            "truncate",
            "touch",
            "rm",
            "rmdir",
            "unlink",
            "shred",
            "srm",
            "mkdir",
            "mkfifo",
            "mknod",
        ),
        _all,
    ),
    **dict.fromkeys(("cp", "install", "ln", "rsync"), _copied),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr", "setfacl"), _after_first),
    **dict.fromkeys(("sed", "gsed", "perl"), _edited),
    **dict.fromkeys(("gzip", "gunzip", "bzip", "bunzip", "xz", "unxz", "zstd", "unzstd", "lzma"), _squeezed),
    **dict.fromkeys(("gcc", "cc", "g++", "c++", "clang", "clang++", "ld", "rustc", "go", "pandoc"), _linked),
    "split": _parts,
    **dict.fromkeys(("uniq", "xxd"), _second),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _packed),
    "mv": _moved,
    "dd": lambda invocation: [each[3:] for each in invocation.arguments if each.startswith("of=")],
    "xattr": lambda invocation: invocation.operands[-1:],
    "sort": _of("o", "--output"),
    "curl": _of(
        "oDc", "--output", "--output-dir", "--cookie-jar", "--dump-header", "--trace", "--trace-ascii"
    ),
    "wget": _of("OPoa", "--output-document", "--directory-prefix", "--output-file", "--append-output"),
    "aria": _of("do", "--dir", "--out"),
    "unzip": _of("d"),
    "7z": _of("o"),
    "zip": lambda invocation: invocation.operands[:1],
    "openssl": lambda invocation: _after(invocation, "-out"),
    "gpg": _of("o", "--output"),
    "iconv": _of("o", "--output"),
    "patch": _of("do", "--directory", "--output"),
    "ssh-keygen": _of("f"),
    "pip": _of("t", "--target", "--prefix", "--root"),
    "npm": _of("", "--prefix"),
    "virtualenv": _all,
    "python": _environment,
    "find": _found,
    "csplit": _of("f", "--prefix"),
    "ffmpeg": lambda invocation: invocation.operands[-1:],
    "xmllint": _of("o", "--output"),
}
"""By program, the words that name what it writes."""
