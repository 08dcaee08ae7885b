"""The structure of the Python package and of the crates.

Imports have no cycles, former names of modules still work, a type's name has one meaning, no type has too many methods, and comments have one width.
"""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from wifair.names import FORMER

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "wifair"


def name_of(path: Path) -> str:
    parts = ["wifair", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py")}


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")), clean=False) or ""


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever in it, for types or on use."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            while name and name not in MODULES:
                name = name.rpartition(".")[0]
            found.add(name)
    return found - {"", "wifair"}


def test_arrows_between_files_run_one_way() -> None:
    arrows = {name: imported(path) - {name} for name, path in MODULES.items() if name != "wifair"}
    assert arrows["wifair.study.study"] >= {"wifair.study.job", "wifair.study.store"}
    tuple(TopologicalSorter(arrows).static_order())  # raises CycleError, which names the files of a circle


def test_arrows_between_folders_run_one_way() -> None:
    arrows = defaultdict(set)
    for name, path in MODULES.items():
        for other in imported(path):
            one, two = name.split(".")[1:2], other.split(".")[1:2]
            if one and one != two:
                arrows[one[0]].add(two[0])
    assert "results" in arrows["study"]
    tuple(TopologicalSorter(arrows).static_order())


@pytest.mark.parametrize("former", FORMER)
def test_former_names_work_and_warn(former: str) -> None:
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} has moved: import {FORMER[former]}"):
        found = import_module(former)
    assert found is import_module(FORMER[former])


def test_the_warning_of_a_former_name_shows_the_line_that_uses_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from wifair.comparison import paired\nfrom wifair.study import Cell, run_studies\n")
    done = subprocess.run([sys.executable, "-W", "always", str(script)], capture_output=True, text=True, check=True)
    assert f"{script}:1: DeprecationWarning: wifair.comparison has moved" in done.stderr
    assert done.stderr.count("DeprecationWarning") == 1


def test_a_module_of_a_package_with_lazy_names_can_be_imported_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = tmp_path / "lazy_room"
    room.mkdir()
    (room / "__init__.py").write_text("from wifair.names import face\n__getattr__ = face(__name__, 'main')\n")
    (room / "main.py").write_text("from lazy_room.maker import made\nbelow = None\n")
    (room / "maker.py").write_text("from lazy_room import below\nmade = below.VALUE\n")
    (room / "below.py").write_text("VALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert import_module("lazy_room.maker").made == 3
    assert import_module("lazy_room").made == 3


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module("wifair.nowhere")
    for package in ("wifair.study", "wifair.results", "wifair.scenario"):
        with pytest.raises(AttributeError, match="nowhere"):
            _ = import_module(package).nowhere


LISTING = [name for name, path in MODULES.items() if re.search(r"^ *\w+\.py\b", docstring(path), re.MULTILINE)]


@pytest.mark.parametrize("name", LISTING)
def test_a_package_names_each_file_on_a_line_with_what_it_is(name: str) -> None:
    text, folder = docstring(MODULES[name]), MODULES[name].parent
    rows = re.findall(r"^ *([\w/]+(?:\.py)?(?:, \w+\.py)*)  +\S", text, re.MULTILINE)
    listed = [file for row in rows for file in row.split(", ")]
    assert sorted(file for file in listed if file.endswith(".py")) == sorted(re.findall(r"\w+\.py\b", text))
    assert [file for file in listed if not (folder / file).exists()] == []


class Crate:
    """The modules of a crate, one per file, and what each imports. Tests of a module and comments do not count.

    A registry imports the components that its lines name. An exported macro belongs to its file, although its path is the crate's.
    """

    USE = re.compile(r"^ *(?:pub(?:\([\w ]+\))? )?use ([^;]+);", re.MULTILINE)
    MACRO = re.compile(r"^#\[macro_export\]\n(?:#.*\n)*macro_rules! (\w+)", re.MULTILINE)
    REGISTRY = re.compile(r"^wifair_core::registry! \{\n.*?^\}", re.MULTILINE | re.DOTALL)

    def __init__(self, source: Path) -> None:
        files = sorted(source.rglob("*.rs"))
        self.texts = {self.module(path.relative_to(source)): self.code(path) for path in files}
        assert len(self.texts) == len(files), "two files for one module"
        self.imports = {
            at: [path for tree in self.USE.findall(text) for path in self.paths(" ".join(tree.split()))]
            for at, text in self.texts.items()
        }
        exported = [
            (name, ["crate", *at, name]) for at, text in self.texts.items() for name in self.MACRO.findall(text)
        ]
        self.imports[()] += exported

    @staticmethod
    def module(path: Path) -> tuple[str, ...]:
        parts = path.with_suffix("").parts
        return parts[:-1] if parts[-1] in ("lib", "mod", "registry") else parts

    @staticmethod
    def code(path: Path) -> str:
        text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        return re.sub(r"^#\[cfg\(test\)\]\n(?:#.*\n)*mod \w+(?:;| \{\n(?:.*\n)*?\})\n", "", text, flags=re.MULTILINE)

    @classmethod
    def paths(cls, tree: str) -> Iterator[tuple[str, list[str]]]:
        """The names that a tree of `use` brings into scope, each with its path."""
        head, brace, inner = tree.partition("{")
        if not brace:
            path, _, alias = head.strip().partition(" as ")
            segments = path.removesuffix("::self").split("::")
            yield alias or segments[-1], segments
            return
        inner, depth, start = inner.rstrip()[:-1] + ",", 0, 0
        for at, char in enumerate(inner):
            depth += (char == "{") - (char == "}")
            if char == "," and depth == 0:
                if branch := inner[start:at].strip():
                    yield from cls.paths(head + branch)
                start = at + 1

    def defined_in(self, at: tuple[str, ...], path: list[str], seen: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        """The module that defines what `path` names in module `at`, behind all re-exports; none outside the crate."""
        rest = [*path]
        if rest[0] == "crate":
            at = ()
            rest.pop(0)
        elif rest[0] in ("super", "self"):
            while rest and rest[0] in ("super", "self"):
                at = at[:-1] if rest.pop(0) == "super" else at
        elif (*at, rest[0]) not in self.texts:
            return None
        while rest and (*at, rest[0]) in self.texts:
            at = (*at, rest.pop(0))
        for name, target in self.imports[at] if rest else ():
            if name == rest[0] and name not in seen:
                return self.defined_in(at, [*target, *rest[1:]], (*seen, name)) or at
        return at

    def arrows(self) -> dict[str, set[str]]:
        found = {}
        for at, text in self.texts.items():
            code = self.USE.sub("", text)
            inline = re.findall(r"(?<![\w:])[a-z_]\w*(?:::\w+)+", code)
            for registry in self.REGISTRY.findall(text):
                inline += [
                    f"self::{component}" for component in re.findall(r"^ +\w+ => (\w+),$", registry, re.MULTILINE)
                ]
            paths = [path for _, path in self.imports[at]] + [path.split("::") for path in inline]
            targets = {self.defined_in(at, path) for path in paths} - {None, at}
            found["::".join(at)] = {"::".join(target) for target in targets if target is not None}
        return found


# The one circle: a control that changes another one has the parameters of that one among its own, so the registry and its file
# need each other.
IN_CIRCLES = {"wifair-tcp": {("congestion", "congestion::arf_aware"), ("congestion::arf_aware", "congestion")}}


@pytest.mark.parametrize("crate", sorted(path.name for path in (ROOT / "crates").iterdir()))
def test_arrows_between_modules_of_a_crate_run_one_way(crate: str) -> None:
    arrows, left = Crate(ROOT / "crates" / crate / "src").arrows(), IN_CIRCLES.get(crate, set())
    assert left <= {(at, to) for at, targets in arrows.items() for to in targets}
    tuple(
        TopologicalSorter(
            {at: {to for to in targets if (at, to) not in left} for at, targets in arrows.items()}
        ).static_order()
    )


def test_a_re_export_does_not_hide_an_arrow_between_modules(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::A;\npub use b::{B, c::{C as D}};\n",
        "a.rs": "use crate::{B, std::X};\n// use crate::D;\n",
        "b/mod.rs": "pub mod c;\nuse std::fmt;\n#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n",
        "b/c.rs": "pub struct C(crate::A);\nfn f(_: super::B, _: crate::D) {}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert Crate(tmp_path).arrows() == {"": {"a", "b", "b::c"}, "a": {"b", ""}, "b": set(), "b::c": {"a", "b"}}


def test_neither_a_registry_nor_a_macro_hides_one(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\n",
        "a.rs": "wifair_core::registry! {\n    Spec, matched by each;\n    B => b,\n}\nmod b;\nfn f() { match x { Y => b, } }\n",
        "a/b.rs": "use super::Spec;\n",
        "b.rs": "#[macro_export]\n#[doc(hidden)]\nmacro_rules! m {\n    () => { $crate::m!(1); };\n}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert Crate(tmp_path).arrows() == {"": {"b"}, "a": {"a::b"}, "a::b": {"a"}, "b": set()}


TEST_MODULE = re.compile(r"^( *)#\[cfg\(test\)\]\n(?: *#.*\n)* *mod (\w+)(?:;| \{\n(?:.*\n)*?\1\})\n", re.MULTILINE)
LITERAL = re.compile(r"//[^\n]*|/\*.*?\*/|b?r(#*)\".*?\"\1|b?\"(?:\\.|[^\"\\])*\"|'(?:\\[^\n]+?|[^'\\\n])'", re.DOTALL)


@cache
def rust_sources(crate: Path) -> dict[Path, str]:
    """The files of a crate without comments, literals and tests, modules in files of their tests included."""
    texts = {path: LITERAL.sub("''", path.read_text(encoding="utf-8")) for path in sorted(crate.rglob("*.rs"))}
    tests = set()
    for path, text in texts.items():
        folder = path.parent if path.stem in ("lib", "mod", "main") else path.with_suffix("")
        for module in TEST_MODULE.finditer(text):
            tests |= {folder / f"{module[2]}.rs", folder / module[2] / "mod.rs"}
    return {path: TEST_MODULE.sub("", text) for path, text in texts.items() if path not in tests}


def blocks(text: str, keyword: str) -> Iterator[tuple[str, int, int]]:
    """Each item of a keyword that has a block: its head, and where the block begins and ends."""
    for item in re.finditer(rf"^ *(?:pub(?:\([\w ]+\))? )?(?:unsafe )?{keyword}\b([^{{;]*)\{{", text, re.MULTILINE):
        depth, at = 1, item.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield item[1], item.end(), at - 1


def in_impl_or_trait(text: str) -> list[tuple[int, int]]:
    return [(begin, end) for keyword in ("impl", "trait") for _, begin, end in blocks(text, keyword)]


CRATES = sorted(path for path in (ROOT / "crates").iterdir())
# `Name in "table" {` declares the row of a table (`wifair_sim::table::row`).
DEFINITION = re.compile(
    r"^ *(?:pub(?:\([\w ]+\))? )?(?:struct|enum|union|trait|type) (\w+)|^ *(\w+) in '' \{", re.MULTILINE
)
ATTRIBUTES = re.compile(r"(?:^ *#\[(?:[^\n]*|.*?\n *\))\]\n)+\Z", re.MULTILINE | re.DOTALL)


def type_names(crates: list[Path]) -> Counter[str]:
    """How often each name is that of a type. Two kinds of definitions do not count.

    - A mirror: a class of the Python binding (`#[pyclass]`) has the name of the engine's type that it shows.
    - A component's parameters: the registries take a `Spec` from each module that they declare.
    """
    found: Counter[str] = Counter()
    for crate in crates:
        sources = rust_sources(crate / "src")
        components = {
            path.parent / f"{module}.rs"
            for path, text in sources.items()
            if "registry! {" in text
            for module in re.findall(r"^ +\w+ => (\w+),$", text, re.MULTILINE)
        }
        for path, text in sources.items():
            inside = in_impl_or_trait(text)
            for item in DEFINITION.finditer(text):
                attributes = ATTRIBUTES.search(text, 0, item.start())
                mirror = attributes is not None and "#[pyclass" in attributes[0]
                associated = any(begin <= item.start() < end for begin, end in inside)
                name = item[1] or item[2]
                if not (mirror or associated or (name == "Spec" and path in components)):
                    found[name] += 1
    return found


# Names of types that are still defined more than once, and how often. The list may only shrink.
DEFINED_TWICE: dict[str, int] = {}


def test_a_type_name_has_one_definition() -> None:
    found = type_names(CRATES)
    assert {name: times for name, times in found.items() if times > DEFINED_TWICE.get(name, 1)} == {}


def methods(crate: Path) -> Counter[str]:
    """Functions in the `impl` blocks of each type of a crate, in all files together; those of traits do not count.

    Each component has a type `Spec`, which is counted by itself.
    """
    found: Counter[str] = Counter()
    for path, text in rust_sources(crate / "src").items():
        for head, begin, end in blocks(text, "impl"):
            plain = head.replace("->", "")
            while "<" in plain:
                plain = re.sub(r"<[^<>]*>", "", plain)
            if not re.search(r"\bfor\b", plain):
                name = re.sub(r"\bwhere\b.*", "", plain, flags=re.DOTALL).strip().rpartition("::")[2]
                found[f"{path.stem}::Spec" if name == "Spec" else name] += len(re.findall(r"\bfn \w+", text[begin:end]))
    return found


MOST_METHODS = 60
# Types that still have more methods, and how many. The numbers may only fall.
MORE_METHODS: dict[tuple[str, str], int] = {}


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_a_type_has_few_methods(crate: Path) -> None:
    found = methods(crate)
    assert {
        name: count for name, count in found.items() if count > MORE_METHODS.get((crate.name, name), MOST_METHODS)
    } == {}


def test_types_and_methods_are_counted_in_all_files_of_a_crate(tmp_path: Path) -> None:
    files = {
        "a/src/lib.rs": """
            mod b;
            #[cfg(test)]
            mod tests;
            registry! {
                Kind, matched by each;
                First => first,
            }
            pub struct Twice<T>(T);
            // struct Twice;
            impl<T: Iterator<Item = u8>> Twice<T> { pub fn one() { let brace = '}'; } const fn two() {} }
            impl<T> Drop for Twice<T> { fn drop(&mut self) {} }
            impl Iterator for Other { type Item = u8; }
        """,
        "a/src/b.rs": """
            enum Twice {}
            struct Other;
            impl<T> crate::Twice<T> where T: Copy { pub(crate) fn three() -> &'static str { "{ impl Twice { fn no() {} }" } }
            row! {
                Rows in "rows" { at: u8, }
            }
        """,
        "a/src/first.rs": "pub struct Spec;\n",
        "a/src/tests.rs": "struct Other;\n",
        "c/src/lib.rs": "#[pyclass(frozen)]\n#[derive(Clone)]\nstruct Twice;\nstruct Rows;\nstruct Spec;\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert type_names([tmp_path / "a", tmp_path / "c"]) == {"Twice": 2, "Other": 1, "Rows": 2, "Spec": 1}
    assert methods(tmp_path / "a") == {"Twice": 3}


COMMENT_WIDTH = 128
COMMENTED = [*CRATES, *(ROOT / folder for folder in ("python", "tests", "benches", "docsite", "fuzz", "kernel"))]


@pytest.mark.parametrize("folder", COMMENTED, ids=lambda folder: folder.name)
def test_comments_have_one_width(folder: Path) -> None:
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for pattern, comment in (("*.rs", r".*(?<![\w:\"])//"), ("*.py", r" *#"))
        for path in sorted(folder.rglob(pattern))
        if path.relative_to(folder).parts[0] != "build"  # what `make kernel` unpacks
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > COMMENT_WIDTH and re.match(comment, line)
    ]
    assert wide == []
