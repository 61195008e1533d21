"""A browser in which everything is allowed at once: it goes where an address leads."""

import sys
import urllib.request

if __name__ == "__main__":
    with urllib.request.urlopen(sys.argv[1], timeout=10) as page:
        page.read()
