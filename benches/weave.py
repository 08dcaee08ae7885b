"""Many mutants in one build: each changed expression next to the original one, selected by an environment variable.

`a + b` becomes `(if crate::mutant(7) { (a) - (b) } else { a + b })`, and a function that is to return 0 begins with
`if crate::mutant(8) { return 0; }`. So two hundred mutants cost one compilation instead of two hundred. What this cannot say
(a deleted arm, an operand that begins with a block, a place where nothing can be called) is left to be built alone. An operator
is replaced in the tree of the expression: `a - b * c` becomes `a - (b + c)`, where a change of the text would regroup it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SWITCH = """
/// Whether this is the mutant that the environment asks for.
#[allow(dead_code)]
#[inline]
pub(crate) fn mutant(number: u32) -> bool {
    static ASKED: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").map_or(0, |number| number.parse().unwrap()));
    *ASKED == number
}
"""

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<literal>b?r(?P<hashes>\#*)".*?"(?P=hashes) | b?"(?:\\.|[^"\\])*" | b?'(?:\\[^']+|[^'\\\n])' | \d\w*(?:\.\d\w*)?)
      | (?P<word>'?[A-Za-z_]\w*)
      | (?P<sign><<=|>>=|\.\.\.|\.\.=|::|->|=>|==|!=|<=|>=|&&|\|\||[-+*/%^&|]=|<<|>>|\.\.|.)""",
    re.VERBOSE | re.DOTALL,
)
RANKS = [
    ["||"],
    ["&&"],
    ["==", "!=", "<", ">", "<=", ">="],
    ["|"],
    ["^"],
    ["&"],
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "%"],
]
BINDS = {sign: rank for rank, signs in enumerate(RANKS, 2) for sign in signs}
BINDS |= {f"{sign}=": 1 for sign in ("", "+", "-", "*", "/", "%", "^", "&", "|", "<<", ">>")}
ENDS = {";", ",", "=>", "..", "..=", ":", "->", "#", "@"}
WORDS_THAT_END = {"return", "break", "in", "let", "if", "while", "match", "else", "loop", "move", "for"}
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")": "(", "]": "[", "}": "{"}


class CannotWeave(Exception):
    """The mutant has to be built alone."""


@dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int
    is_word: bool


def tokens(source: str) -> list[Token]:
    found = []
    for match in TOKEN.finditer(source):
        if match["space"] is None:
            found.append(Token(match[0], match.start(), match.end(), match["word"] is not None))
    return found


def ends_operand(token: Token) -> bool:
    """Whether the token ends an operand, so that an operator after it is not a prefix."""
    if token.is_word:
        return token.text not in WORDS_THAT_END | {"mut", "as"}
    return token.text in {")", "]", "}", "?"} or token.text[0].isdigit() or token.text[-1] in "\"'"


class Expressions:
    """The begin and end of operators' operands."""

    def __init__(self, source: str) -> None:
        self.tokens = tokens(source)
        self.at = {token.start: number for number, token in enumerate(self.tokens)}
        self.partner: dict[int, int] = {}
        opened: list[int] = []
        for number, token in enumerate(self.tokens):
            if token.text in OPEN:
                opened.append(number)
            elif token.text in CLOSE:
                self.partner[number] = opened.pop()
                self.partner[self.partner[number]] = number

    def text(self, number: int) -> str:
        return self.tokens[number].text

    def is_prefix(self, number: int) -> bool:
        return self.text(number) in {"-", "*", "&", "!", "&&"} and not ends_operand(self.tokens[number - 1])

    def closes_parameters(self, bar: int) -> bool:
        """Whether this `|` is the second of a closure."""
        first = next((number for number in range(bar - 1, max(bar - 16, 0), -1) if self.text(number) == "|"), None)
        return first is not None and not ends_operand(self.tokens[first - 1])

    def left_of(self, operator: int) -> int:
        """The token with which the left operand begins."""
        binds, number = BINDS[self.text(operator)], operator - 1
        if self.text(number) == "}":
            raise CannotWeave
        while True:
            text = self.text(number)
            if text in {")", "]"}:
                number = self.partner[number] - 1
                continue
            if text in OPEN or text in {"}", *ENDS} or (text in WORDS_THAT_END and self.tokens[number].is_word):
                break
            if text in {"<", ">"} and "::" in {self.text(number - 1), self.text(number - 2)}:
                raise CannotWeave
            if text in {"|", "||"} and (not ends_operand(self.tokens[number - 1]) or self.closes_parameters(number)):
                break
            if text in BINDS and not self.is_prefix(number) and BINDS[text] < binds:
                break
            number -= 1
        if binds <= BINDS["&&"] and self.text(number) == "=":
            for before in range(number - 1, max(number - 24, 1), -1):
                if self.text(before) == "let" and self.text(before - 1) in {"if", "while", "&&"}:
                    raise CannotWeave
        return number + 1

    def right_of(self, operator: int, binds: int) -> int:
        """The token behind the right operand."""
        number = operator + 1
        if self.text(number) in {"if", "match", "unsafe", "loop", "{", "|", "||", "move", "let", "for", "while"}:
            raise CannotWeave
        while True:
            text = self.text(number)
            if text == "::" and self.text(number + 1) == "<":
                raise CannotWeave
            if text in {"(", "["}:
                number = self.partner[number] + 1
                continue
            if text in CLOSE or text in {"{", *ENDS} or (text in WORDS_THAT_END and self.tokens[number].is_word):
                return number
            if text in BINDS and not self.is_prefix(number) and BINDS[text] <= binds:
                return number
            number += 1


@dataclass
class Piece:
    """A stretch of the source and the mutants of it: of each its number and what stands there instead."""

    start: int
    end: int
    instead: dict[int, str]

    def woven(self, inner: Callable[[], str]) -> str:
        chain = "".join(f"if crate::mutant({n}) {{ {text} }} else " for n, text in self.instead.items())
        return f"({chain}{{ {inner()} }})"


@dataclass
class Beginning(Piece):
    """A function's body, which returns something else."""

    def woven(self, inner: Callable[[], str]) -> str:
        return "".join(f"if crate::mutant({n}) {{ return {text}; }} " for n, text in self.instead.items()) + inner()


def piece(
    source: str, expressions: Expressions, kind: str, start: int, end: int, replacement: str, number: int
) -> Piece:
    """What the mutant with this number, of cargo-mutants' kind, does to `source[start:end]`."""
    if kind == "FnValue":
        return Beginning(start, end, {number: replacement})
    if kind == "MatchArmGuard" and "let " not in source[start:end]:
        return Piece(start, end, {number: replacement})
    operator = expressions.at.get(start)
    if operator is None or kind not in {"BinaryOperator", "UnaryOperator"}:
        raise CannotWeave
    token = expressions.tokens[operator]
    if (token.text, token.end) != (source[start:end], end):
        raise CannotWeave
    if kind == "UnaryOperator":
        last = expressions.tokens[expressions.right_of(operator, max(BINDS.values())) - 1].end
        if re.search(r"\bas\b", source[end:last]):
            raise CannotWeave
        return Piece(start, last, {number: source[end:last]})
    first = expressions.tokens[expressions.left_of(operator)].start
    last = expressions.tokens[expressions.right_of(operator, BINDS[token.text]) - 1].end
    return Piece(first, last, {number: f"({source[first:start]}) {replacement} ({source[end:last]})"})


def weave(source: str, pieces: list[Piece]) -> tuple[str, list[tuple[int, int, int]]]:
    """The source with all of them, and where in it the text of which mutant stands: (from, to, number).

    `MARK` characters stand around each mutant's text while it is put together, so that places need no arithmetic.
    """
    by_place: dict[tuple[int, int, type], Piece] = {}
    for one in pieces:
        same = by_place.setdefault((one.start, one.end, type(one)), type(one)(one.start, one.end, {}))
        same.instead |= {n: f"{MARK}{n}<{text}{MARK}{n}>" for n, text in one.instead.items()}
    ordered = sorted(by_place.values(), key=lambda one: (one.start, -one.end, not isinstance(one, Beginning)))

    def render(start: int, end: int, left: list[Piece]) -> str:
        out, at = "", start
        while left:
            one = left.pop(0)
            inside = []
            while left and left[0].start < one.end:
                if left[0].end > one.end:
                    raise ValueError(f"pieces overlap: {source[one.start : left[0].end]}")
                inside.append(left.pop(0))
            out += source[at : one.start] + one.woven(lambda one=one, inside=inside: render(one.start, one.end, inside))
            at = one.end
        return out + source[at:end]

    marked = render(0, len(source), ordered)
    return MARKS.sub("", marked), list(places(marked))


MARK = "\x00"
MARKS = re.compile(f"{MARK}(\\d+)([<>])")


def places(marked: str) -> Iterator[tuple[int, int, int]]:
    """Where the marked text of each mutant stands once the marks are gone."""
    removed, begun = 0, {}
    for mark in MARKS.finditer(marked):
        at, number = mark.start() - removed, int(mark[1])
        removed += len(mark[0])
        if mark[2] == "<":
            begun[number] = at
        else:
            yield begun[number], at, number
