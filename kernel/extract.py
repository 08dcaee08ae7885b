# SPDX-License-Identifier: GPL-2.0-only
"""Prints the named functions of C files: `extract.py FOLDER FILE:NAME...`; or what they need of headers: `extract.py --types SOURCE`.

The file and line of each function are printed before it, for the compiler's messages.
"""

import re
import sys
from pathlib import Path


def function(text: str, name: str) -> tuple[str, int]:
    """A function's text, from the line of its type to its closing brace, and the number of its first line."""
    head = rf"^(?:(?:static|bool|void|u16)[\w ]*\n)?(?:[a-z][\w \t*]*\b)?{name}\([^;{{]*\)\n\{{.*?^\}}$"
    found = re.search(head, text, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(f"no function {name}: this is another version of the kernel")
    return found[0], text[: found.start()].count("\n") + 1


def types(root: Path) -> str:
    """A station's airtime accounts, the flags of what is charged, and the limits; rates, and how the estimate of a frame is kept."""
    stations = (root / "net/mac80211/sta_info.h").read_text()
    api, device = ((root / "include/net" / name).read_text() for name in ("mac80211.h", "cfg80211.h"))
    constants = r"^#define (?:IEEE80211_DEFAULT_A\w+|AIRTIME_ACTIVE_DURATION|IEEE80211_AQL_\w+|AIRTIME_USE_\w+)\s.*$"
    internal = (root / "net/mac80211/ieee80211_i.h").read_text()
    found = re.findall(constants, stations + internal + device, re.MULTILINE)
    enums = [("mac80211_rx_encoding", api), ("mac80211_rx_encoding_flags", api), ("mac80211_rate_control_flags", api), ("rate_info_flags", device), ("rate_info_bw", device)]
    wanted = [(f"enum {name} {{", text) for name, text in enums]
    wanted += [("struct airtime_info {", stations), ("struct rate_info {", device), ("struct ieee80211_tx_rate {", api)]
    for head, text in wanted:
        body = re.search(rf"^{re.escape(head)}.*?^\}}[ \w]*;$", text, re.MULTILINE | re.DOTALL)
        if not body:
            raise SystemExit(f"no {head[:-2]}: this is another version of the kernel")
        found.append(body[0])
    return "\n".join(found)


if __name__ == "__main__":
    root, *wanted = sys.argv[1:]
    if root == "--types":
        print(types(Path(wanted[0])))
        raise SystemExit
    for each in wanted:
        path, name = each.split(":")
        body, line = function((Path(root) / path).read_text(), name)
        print(f'#line {line} "{path}"\n{body}\n')
