"""Names, sources, parameters and loading of schemes written in Python.

In a plan such a scheme is `{"name": "external", "id": "CLASS@SOURCE", "parameters": {…}}`. SOURCE is a hash of the
class's file and of the user's modules that it imports. It is part of the key of stored results.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import json
import sys
import sysconfig
import traceback
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from wifair import _native
from wifair.errors import InputError, ScenarioError, SchemeError
from wifair.files import read_bytes
from wifair.scheme import Scheme

# By id of a scheme: the function that creates an instance from its parameters as JSON.
Makers = dict[str, Callable[[str], dict[str, object]]]

# Separates file and class in a name on the command line.
MARK = ".py:"

# In place of the hash for a class without source: unique per class object.
_TOKENS: WeakKeyDictionary[type[Scheme], str] = WeakKeyDictionary()

# The hash of each class's sources, computed once.
_SOURCES: WeakKeyDictionary[type[Scheme], str | None] = WeakKeyDictionary()

_OPTIONAL = (
    "dequeue",
    "on_exchange",
    "on_transmission",
    "on_reception",
    "police",
    "on_queue_size",
    "on_link_rate",
    "on_tick",
    "on_forgotten",
    "evict_excess",
    "gauges",
)

# Types of most values in settings. `PythonScheme` is a text of another type.
_WITHOUT_SCHEMES = frozenset({str, int, float, bool, type(None)})


class PythonScheme(str):
    """The name of a scheme written in Python: a string with a reference to its class, for use wherever a scheme's name is.

    Names are equal if they refer to the same class. A plain string never equals one.
    """

    cls: type[Scheme]

    def __new__(cls, scheme: type[Scheme], text: str = "") -> PythonScheme:
        """The name of a class; `text` is the user's name for it."""
        if scheme.enqueue is Scheme.enqueue:
            raise InputError(f"{text or scheme.__qualname__}: a scheme needs a method enqueue.")
        name = super().__new__(cls, text or scheme.__qualname__)
        name.cls = scheme
        return name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PythonScheme) and self.cls is other.cls

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __copy__(self) -> PythonScheme:
        return self

    def __deepcopy__(self, memo: object) -> PythonScheme:
        return self

    @cached_property
    def source(self) -> str | None:
        """A hash of the sources that determine its behaviour; None if there is no source."""
        if self.cls not in _SOURCES:
            _SOURCES[self.cls] = _source_of(self.cls)
        return _SOURCES[self.cls]

    @cached_property
    def id(self) -> str:
        """Its id in a plan. Without a source the id is unique to this class object."""
        return f"{self.cls.__qualname__}@{self.source or _token(self.cls)}"

    def check(self, given: Mapping[str, Any], path: str) -> None:
        """Raises `ScenarioError` for a parameter that it does not have, that is missing, or that no plan can have. `path` is its key in the scenario."""
        from wifair.keys import join, unknown_key

        known = self._parameters
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values())
        named = [name for name, parameter in known.items() if parameter.kind not in kinds]
        for key, value in given.items():
            if key not in named and not takes_any:
                raise unknown_key(path, key, value, named, f" of {str(self)!r}")
            if not _is_plain(value):
                allowed = "numbers, texts, truth values, and lists and tables of these"
                raise ScenarioError(
                    join(path, key), f"{value!r} cannot be part of a plan", value=value, allowed=allowed
                )
        for name in named:
            if name not in given and known[name].default is inspect.Parameter.empty:
                raise ScenarioError(join(path, name), f"{str(self)!r} needs this parameter")

    def component(self, given: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Its table in a plan, with these parameters. Raises `ScenarioError` if the constructor refuses them by a `ValueError`."""
        try:
            self.cls(**given)
        except ValueError as error:
            told = ", ".join(f"{key} = {value!r}" for key, value in given.items()) or "its defaults"
            problem = f"{str(self)!r} refuses {told}: {str(error).rstrip('.')}"
            raise ScenarioError(path, problem, value=dict(given)) from error
        except Exception:  # a mistake in the scheme: the engine's check gives its traceback
            pass
        return {"name": "external", "id": self.id, "parameters": dict(given)}

    @cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        """The constructor's parameters by name; none without a constructor, although `Scheme.__new__` takes any."""
        if self.cls.__init__ is object.__init__ and self.cls.__new__ is Scheme.__new__:
            return {}
        try:
            return inspect.signature(self.cls, eval_str=True).parameters
        except Exception:  # an annotation that only a type checker can evaluate
            return inspect.signature(self.cls).parameters

    @cached_property
    def schemas(self) -> dict[str, dict[str, Any]]:
        """The JSON Schema of each parameter, by its annotation or else its default; none for one of unknown type."""
        found = {name: _schema_of(parameter) for name, parameter in self._parameters.items()}
        return {name: schema for name, schema in found.items() if schema}


def _schema_of(parameter: inspect.Parameter) -> dict[str, Any]:
    """The JSON Schema of a parameter; empty if neither annotation nor default gives one."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    default, wanted = parameter.default, parameter.annotation
    if wanted is inspect.Parameter.empty:
        wanted = type(default)
    if isinstance(wanted, str) or wanted in (
        type(None),
        type,
    ):  # not evaluated; no type but that of None or of no default
        return {}
    try:
        schema: dict[str, Any] = TypeAdapter(wanted | None if default is None else wanted).json_schema()
    except (PydanticUserError, NameError, TypeError):
        return {}
    options = schema.get("anyOf", [])
    if options and all(option.keys() == {"type"} for option in options):
        return {"type": [option["type"] for option in options]}
    return schema if "type" in schema else {}


def named(value: Any) -> Any:
    """`value` with classes and instances of schemes replaced by their names, and parameters if there are any."""
    if type(value) in _WITHOUT_SCHEMES:
        return value
    if isinstance(value, type) and issubclass(value, Scheme):
        return PythonScheme(value)
    if isinstance(value, Scheme):
        name, given = PythonScheme(type(value)), _arguments(value)
        return {"name": name, **given} if given else name
    if isinstance(value, Mapping):
        return {key: named(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [named(entry) for entry in value]
    return value


def _arguments(scheme: Scheme) -> dict[str, Any]:
    """The constructor's arguments of an instance, by name."""
    args, kwargs = scheme._given
    signature = inspect.signature(type(scheme))
    given: dict[str, Any] = {}
    for key, value in signature.bind(*args, **kwargs).arguments.items():
        kind = signature.parameters[key].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            given |= value
        elif kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY):
            problem = f"its constructor takes {key!r} by position, and a plan knows parameters by name"
            raise InputError(f"{type(scheme).__qualname__}: {problem}.")
        else:
            given[key] = value
    return given


def within(tree: Any) -> dict[str, PythonScheme]:
    """The schemes written in Python in some settings, by id."""
    if isinstance(tree, PythonScheme):
        return {tree.id: tree}
    inner = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, (list, tuple)) else ()
    return {key: each for entry in inner if type(entry) not in _WITHOUT_SCHEMES for key, each in within(entry).items()}


def makers(schemes: Mapping[str, PythonScheme]) -> Makers:
    """The factories for the engine, by id."""
    return {key: _maker(scheme.cls) for key, scheme in schemes.items()}


def _maker(cls: type[Scheme]) -> Callable[[str], dict[str, object]]:
    def make(parameters: str) -> dict[str, object]:
        made = cls(**json.loads(parameters))
        methods = {
            name: getattr(made, name) if getattr(cls, name) is not getattr(Scheme, name) else None for name in _OPTIONAL
        }
        if methods["gauges"]:
            methods["gauges"] = lambda: list(made.gauges().items())
        return {
            "needs": made.needs,
            "decides_on": list(made.decides_on),
            "enqueue_when": made.enqueue_when,
            "first_tick_ns": made.first_tick_ns,
            "enqueue": made.enqueue,
            **methods,
        }

    return make


def failed(error: _native.SchemeFailed, schemes: Mapping[str, PythonScheme], seed: int | None = None) -> SchemeError:
    """The error for an exception in a scheme: place, time and traceback."""
    cause = error.__cause__ or error
    method, now_s = error.args
    name = " or ".join(dict.fromkeys(str(scheme) for scheme in schemes.values())) or "a scheme"
    when = "" if now_s is None else f" at {now_s:.9f} s"
    which = "" if seed is None else f" of seed {seed}"
    text = "".join(traceback.format_exception(cause)).rstrip()
    told = SchemeError(f"{name} failed in {method}{when}{which}:\n{text}")
    told.__cause__ = cause
    return told


def load(name: str) -> PythonScheme:
    """Loads the scheme `path/to/file.py:Class`. This executes the file."""
    stem, mark, wanted = name.partition(MARK)
    path = Path(f"{stem}.py")
    if not mark and name.endswith(".py"):
        path = Path(name)
        raise InputError(
            f"{name}: which scheme of the file? Allowed here: {_choice(path, _schemes_of(_module(path)))}."
        )
    if not mark or not wanted.isidentifier():
        raise InputError(f"{name}: is no scheme of a file; expected FILE.py:CLASS, as my_file.py:MyScheme.")
    module = _module(path)
    found = getattr(module, wanted, None)
    if not (isinstance(found, type) and issubclass(found, Scheme)):
        from wifair.keys import nearest

        known = _schemes_of(module)
        hint = nearest(wanted, known)
        asked = f" Did you mean {hint}?" if hint else ""
        listed = ", ".join(known) or "none: a scheme derives from wifair.Scheme"
        raise InputError(f"{path} has no scheme {wanted!r}.{asked} Schemes there: {listed}.")
    return PythonScheme(found, name)


def _schemes_of(module: ModuleType) -> list[str]:
    """The names of the schemes in a module."""
    return [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Scheme) and value is not Scheme
    ]


def _choice(path: Path, classes: list[str]) -> str:
    return ", ".join(f"{path}:{name}" for name in classes) or "none, since a scheme derives from wifair.Scheme"


def _module(path: Path) -> ModuleType:
    """Imports the file as a module, once per process."""
    full = path.resolve()
    key = f"wifair-scheme-{hashlib.blake2b(str(full).encode(), digest_size=4).hexdigest()}-{path.stem}"
    if key in sys.modules:
        return sys.modules[key]
    try:
        code = compile(read_bytes(full, path), str(path), "exec")
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{path}: is no Python: {''.join(traceback.format_exception_only(error)).rstrip()}") from None
    module = ModuleType(key)
    module.__file__ = str(full)
    sys.modules[key] = module
    sys.path.append(str(full.parent))  # files next to it can be imported, and shadow no installed module
    try:
        exec(code, vars(module))
    except Exception as error:
        del sys.modules[key]
        lines = traceback.format_exception(type(error), error, error.__traceback__ and error.__traceback__.tb_next)
        raise SchemeError(f"{path} failed while it was loaded:\n{''.join(lines).rstrip()}") from error
    return module


def own_files(cls: type) -> dict[str, Path]:
    """The modules that determine a class's behaviour, with their files, without installed packages.

    These are the modules of the class and its bases, and the modules that they import.
    """
    texts = _texts(cls)
    waiting = [base.__module__ for base in cls.__mro__]
    found: dict[str, Path] = {}
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if name in found or path is None or not _is_own(name, path):
            continue
        found[name] = path
        with suppress(OSError, SyntaxError, ValueError):  # it has been edited or removed since
            waiting += _imports(texts.get(name) or path.read_text(encoding="utf-8"), name, path)
    return found


def _texts(cls: type) -> dict[str, str | None]:
    """The source texts of the modules of a class and its bases, at the time that these were created."""
    bases = [base for base in cls.__mro__ if issubclass(base, Scheme) and base is not Scheme]
    return {base.__module__: base._text for base in bases}


def _file_of(name: str) -> Path | None:
    """The file of a module, imported or not yet."""
    module = sys.modules.get(name)
    if module is not None:
        file = getattr(module, "__file__", None)
    else:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return None
        file = spec.origin if spec else None
    return Path(file) if isinstance(file, str) and file.endswith(".py") else None


def _is_own(name: str, path: Path) -> bool:
    installed = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return name.partition(".")[0] != "wifair" and not any(path.is_relative_to(folder) for folder in installed)


def _imports(text: str, name: str, path: Path) -> list[str]:
    """The modules that a source text imports, at any level."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).strip(".")
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return [name for name in found if name]


def _token(cls: type[Scheme]) -> str:
    return _TOKENS.setdefault(cls, f"no-source-{uuid.uuid4().hex}")


def _source_of(cls: type[Scheme]) -> str | None:
    texts = _texts(cls)
    if None in texts.values():
        return None
    files = own_files(cls)
    known = hashlib.blake2b(digest_size=16)
    for name in sorted(files, key=lambda name: files[name].name):
        text = texts.get(name) or files[name].read_text(encoding="utf-8")
        known.update(f"{files[name].name}\0{text}\0".encode())
    return known.hexdigest()


def _is_plain(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(entry) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return all(_is_plain(entry) for entry in value)
    return value is None or isinstance(value, (bool, int, float, str))
