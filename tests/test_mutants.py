"""The runner of mutation tests: what it weaves into a source, and what it says of a proportion."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benches"))

from mutants import keyed, shuffled, wilson  # type: ignore[import-not-found]
from weave import CannotWeave, Expressions, piece, weave  # type: ignore[import-not-found]


@pytest.mark.parametrize(
    ("source", "operator", "changed"),
    [
        ("{ a + b - c }", "- c", "(a + b ) ? ( c)"),
        ("{ a + b - c }", "+ b", "(a ) ? ( b)"),
        ("{ a - b * c + d }", "- b", "(a ) ? ( b * c)"),
        ("{ g(x); -a * *b as u64 < c.d(e, f)? && g }", "< c", "(-a * *b as u64 ) ? ( c.d(e, f)?)"),
        ("{ if a == b || !c[i + 1] { d } }", "|| !", "(a == b ) ? ( !c[i + 1])"),
        ("{ v.iter().map(|&x| x + 1).sum() }", "+ 1", "(x ) ? ( 1)"),
        ("{ flags | A == B }", "== B", "(flags | A ) ? ( B)"),
        ("{ if a { b } self.n += 1; }", "+= 1", "(self.n ) ? ( 1)"),
        ("{ S { size: a / b, ..c } }", "/ b", "(a ) ? ( b)"),
        ('{ /* a == */ "x == y" == s }', "== s", '("x == y" ) ? ( s)'),
    ],
)
def test_operands_are_those_of_the_language(source: str, operator: str, changed: str) -> None:
    start = source.index(operator)
    end = start + len(operator.split(" ", maxsplit=1)[0])
    one = piece(source, Expressions(source), "BinaryOperator", start, end, "?", 7)
    text, spots = weave(source, [one])
    ((left, right, number),) = spots
    assert (number, text[left:right]) == (7, changed)
    assert text[:left].endswith("(if crate::mutant(7) { ")
    assert f"else {{ {source[one.start : one.end]} }})" in text


@pytest.mark.parametrize(
    ("source", "operator"),
    [
        ("{ if let Some(x) = y && x { } }", "&& x"),
        ("{ if x && let Some(y) = z { } }", "&& let"),
        ("{ a + if b { c } else { d } }", "+ if"),
        ("{ a + b::<C>() }", "+ b"),
    ],
)
def test_what_cannot_be_woven_is_left_to_be_built_alone(source: str, operator: str) -> None:
    start = source.index(operator)
    end = start + len(operator.split(" ", maxsplit=1)[0])
    with pytest.raises(CannotWeave):
        piece(source, Expressions(source), "BinaryOperator", start, end, "?", 7)


def test_mutants_of_one_place_and_of_nested_places_stand_side_by_side() -> None:
    source = "{ é + b * !c }"
    expressions = Expressions(source)
    places = [("BinaryOperator", "+ b", 1, "-"), ("BinaryOperator", "+ b", 1, "*"), ("BinaryOperator", "* !", 1, "/")]
    places += [("UnaryOperator", "!c", 1, ""), ("FnValue", source[2:-2], len(source) - 4, "0")]
    pieces = [
        piece(source, expressions, kind, (at := source.index(where)), at + size, instead, number)
        for number, (kind, where, size, instead) in enumerate(places, 1)
    ]
    text, spots = weave(source, pieces)
    assert {number: text[left:right] for left, right, number in spots} == {
        1: "(é ) - ( b * !c)",
        2: "(é ) * ( b * !c)",
        3: "(b ) / ( !c)",
        4: "c",
        5: "0",
    }
    assert text == (
        "{ if crate::mutant(5) { return 0; } (if crate::mutant(1) { (é ) - ( b * !c) } else if crate::mutant(2) "
        "{ (é ) * ( b * !c) } else { é + (if crate::mutant(3) { (b ) / ( !c) } else { b * "
        "(if crate::mutant(4) { c } else { !c }) }) }) }"
    )


def test_a_sample_outlives_shifted_lines() -> None:
    span = {"start": {"line": 1, "column": 1}, "end": {"line": 1, "column": 2}}
    rest = {"file": "f", "genre": "g", "span": span, "replacement": "-"}
    names = [f"src/a.rs:{line}:5: replace + with - in f" for line in range(1, 40)]
    moved = [f"src/a.rs:{line}:9: replace + with - in f" for line in range(101, 140)]
    before, after = (
        [m.key for m in shuffled(keyed([{"name": n, **rest} for n in these]), 3)] for these in (names, moved)
    )
    assert before == after != sorted(before)
    assert len(set(before)) == len(names)


@pytest.mark.parametrize(("hits", "of"), [(81, 263), (5, 200), (0, 20), (20, 20)])
def test_the_ends_of_an_interval_are_the_proportions_that_the_score_test_just_accepts(hits: int, of: int) -> None:
    for end in wilson(hits, of):
        assert (hits / of - end) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) / of, abs=1e-9)
    assert wilson(0, 0) == (0.0, 1.0)
