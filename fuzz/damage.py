"""Writes plans damaged at every place that occurs in some plans, in every way that a reader of JSON may meet.

    python3 fuzz/damage.py DIR $(python3 fuzz/corpora.py plan) fuzz/target/found/plan
    python3 fuzz/run.py plan --also DIR

Chance finds a place's hundred ways to be wrong one after the other, over hours; this writes them down in minutes. A place is a path of
keys with the names of the components on it, so there are some thousands, and a million files of a few hundred bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Place = tuple[str | int, ...]

TEXT = ["{", "}", "[", "]", '"', ":", ",", "-", ".5", "0", "00", "e9", "E400", "1e-400", "9" * 21, "true", "nul"]
TEXT += [" ", "\n", "\\u0061", "\\x", "\\", "\x01", "\u00e4", '{"":0}']
VALUES: list[Any] = [None, True, False, [], [[]], ["x"], [1], {}, {"x": 1}, {"name": "x"}, {"name": {"name": []}}]
VALUES += ["x", "", "\u00e4", -1, 1, 0.5, 1e300, -(2**63), 2**64 - 1]
MARK = "\ue000"
# Deeper ones are what mutations have nested.
MOST_DEEP = 7
MOST_BYTES = 8192


def text(value: object) -> str:
    """As plans are written."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def places(node: object, path: Place = (), kind: tuple[str, ...] = ()) -> Iterator[tuple[Place, tuple[str, ...], Any]]:
    """Every path of a tree, with what makes it another place than others, and what stands there."""
    name = node.get("name") if isinstance(node, dict) else None
    here = (*kind, type(node).__name__, name if isinstance(name, str) else "")
    yield path, here, node
    if len(path) == MOST_DEEP:
        return
    if isinstance(node, dict):
        for key, value in node.items():
            yield from places(value, (*path, key), (*here, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from places(value, (*path, index), here)


def replaced(tree: Any, path: Place, value: object) -> Any:
    """The tree with another value at a path."""
    if not path:
        return value
    first, *rest = path
    if isinstance(tree, dict):
        return {**tree, first: replaced(tree[first], tuple(rest), value)}
    return [replaced(item, tuple(rest), value) if index == first else item for index, item in enumerate(tree)]


def values(node: Any) -> Iterator[str]:
    """What may stand in place of a value."""
    own = text(node)
    yield from map(text, VALUES)
    for damage in TEXT:
        yield damage + own
        yield own + damage
    if isinstance(node, dict):
        yield text(list(node.values()))  # serde takes a list of a table's values for the table
        yield text(list(node.values())[:1])
        for key, value in node.items():
            yield text({other: value for other, value in node.items() if other != key})
            yield f"{own[:-1]},{text(key)}:{text(value)}}}"
    if isinstance(node, list):
        yield f"{own[:-1]},{own[1:]}"
        yield f"{own[:-1]},{own[1:-1]},{own[1:]}"
    if isinstance(node, dict | list):
        for damage in TEXT:
            yield own[:-1] + ("," if node else "") + damage + own[-1]
    if isinstance(node, str):
        yield f'"\\u{ord(node[0]):04x}{node[1:]}"' if node else '"\\u'
        yield from (text({node: None}), text({node: {}}), text([node]), own[:-1])
    if isinstance(node, int | float):
        yield from (own + ".0", own + "e0", own + "E+1", own + "e-1", own + ".", "-" + own)


def keys(before: str, key: str, own: str, behind: str) -> Iterator[str]:
    """The whole text with something wrong about the key of a value."""
    quoted = text(key)
    at = before.rindex(quoted)
    head, colon = before[:at], before[at + len(quoted) :]
    others = ['"x"', '""', "1", "null", "{}", "[]", "true", '"\\x"', quoted[:-1], quoted[1:]]
    escaped = f'"\\u{ord(key[0]):04x}{key[1:]}"' if key else '"\\u'
    for other in (*others, escaped):
        yield head + other + colon + own + behind
    for end in ("", quoted, quoted + ":", quoted + ":" + own[:1], quoted + ":" + own):
        yield head + end
    yield head + quoted + own + behind
    yield head + quoted + ":," + behind
    yield head + quoted + ":" + own + "," + quoted + ":" + own + behind


def damaged(tree: Any, path: Place, node: Any) -> Iterator[str]:
    """All damaged versions of one place."""
    before, behind = text(replaced(tree, path, MARK)).split(text(MARK))
    for value in values(node):
        yield before + value + behind
    if path and isinstance(path[-1], str):
        yield from keys(before, path[-1], text(node), behind)


def main() -> None:
    """Writes them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="where to")
    parser.add_argument("plans", type=Path, nargs="+", help="folders of plans; what is no plan there is passed over")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    seen = set()
    # The smallest plan that has a place shows it in the fewest bytes.
    contents = sorted((path.read_bytes() for folder in given.plans for path in folder.iterdir()), key=len)
    for content in contents:
        try:
            tree = json.loads(content)
        except ValueError:
            continue
        if not isinstance(tree, dict) or not {"bss", "flows"} <= tree.keys():
            continue
        for path, kind, node in places(tree):
            if kind in seen:
                continue
            seen.add(kind)
            if len(seen) % 500 == 0:
                print(f"{len(seen)} places", file=sys.stderr)
            for whole in damaged(tree, path, node):
                data = whole.encode(errors="surrogatepass")
                if len(data) <= MOST_BYTES:
                    (given.out / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)
    print(f"{len(seen)} places")


if __name__ == "__main__":
    main()
