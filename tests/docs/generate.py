"""`make docs`: the generated parts of the documentation are made again, in their places."""

from __future__ import annotations

import sys

from tests.docs.pages import pages
from tests.docs.parts import PARTS


def main() -> None:
    """Write every page whose generated parts have changed, and say which."""
    for page in pages():
        text = page.with_parts(lambda name: PARTS[name]())
        if text != page.text:
            page.path.write_text(text)
            sys.stdout.write(f"{page.name} regenerated\n")


if __name__ == "__main__":
    main()
