"""What populations are drawn from, look like and cost, and a small comparison in one, into docs/population.md.

`python docs/figures/population.py`, ten minutes on two cores. Finished replications are kept in results/population-page.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from wifair import Population, judge
from wifair.everything.contenders import REFERENCE
from wifair.everything.share_figure import shares_figure
from wifair.everything.shares import COSTLY, WORDS, percent
from wifair.everything.verdict import Standing
from wifair.markdown import Marks, table
from wifair.plots import save
from wifair.population.look import as_markdown, figure, frame
from wifair.population.quantities import as_table

DOCS = Path(__file__).resolve().parents[1]
PAGE, IMAGES = DOCS / "population.md", DOCS / "images"
COMMAND = "python docs/figures/population.py"
STORE = DOCS.parent / "results" / "population-page"
# The population that the page describes, and the smaller one in which schemes are compared.
SHOWN = Population()
COMPARED = Population(count=2)
SCHEMES = ("droptail", "las", REFERENCE)


def described() -> None:
    """The distributions, the properties of the population, and its figure: no run."""
    Marks("distributions", COMMAND).write(PAGE, as_table())
    found = frame(SHOWN.scenarios)
    Marks("properties", COMMAND).write(PAGE, as_markdown(found))
    save(figure(found), IMAGES, "population")


def timed() -> None:
    """The processor time of a replication of each scenario."""
    seconds = []
    for scenario in SHOWN.scenarios.values():
        began = time.process_time()
        scenario.run(seeds=1, threads=1)
        seconds.append(time.process_time() - began)
    mean, median, most = np.mean(seconds), np.median(seconds), max(seconds)
    text = (
        f"On one core, a replication takes {mean:.2f} s on average, {median:.2f} s in the median and {most:.1f} s at most, over the "
        f"{len(seconds)} scenarios of `wifair population` with seed 1."
    )
    Marks("cost", COMMAND).write(PAGE, text)


def compared() -> None:
    """The shares of a few schemes in a small population."""
    found = judge(COMPARED, SCHEMES, store=STORE)
    rows = [
        (
            f"`{share.scheme}`",
            percent(share.interval(Standing.BETTER)),
            percent(share.interval(*COSTLY)),
            *(f"{share.counts[standing]}" for standing in WORDS if standing is not Standing.UNFINISHED),
        )
        for share in found.schemes
    ]
    words = [word for standing, word in WORDS.items() if standing is not Standing.UNFINISHED]
    headings = ("scheme", "better, share", "worse or a trade, share", *words)
    said = "\n>\n".join(f"> {sentence}" for sentence in found.answer())
    Marks("example", COMMAND).write(PAGE, f"{said}\n\n{table(headings, rows)}\n\n{found.sure()}")
    save(shares_figure(found), IMAGES, "population-shares")


if __name__ == "__main__":
    described()
    timed()
    compared()
