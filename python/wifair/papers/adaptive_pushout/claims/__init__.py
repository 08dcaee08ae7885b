"""Every sentence of the paper's abstract and Sections I to V that states a result, as a claim that is tested.

How sentences are read, for all claims:

- Throughput is payload delivered in order (goodput). "Better fairness" is a greater fairness index of the same run.
- Where a figure plots a statement over a range, the statement is tested at every plotted point. Sentences on fairness that compare
  adaptive pushout with ACK pushout, or with all schemes, mix by mix, leave out (n_down, n_up) = (2, 18), which IV-C excepts; means
  over mixes have it. The x values of Fig. 3 are lost; 2 to 20 flows in all are taken.
- "Almost the same" and "fairly constant" mean within 10 %; an index "near 1" means 0.95 or more.
- "Much" and "largely" mean by a factor of two, whatever they qualify: `MUCH` in `evidence`. A throughput is largely lowered if
  it is at most half of what it was, fairness is much better if what the index lacks to 1 is at most half. A factor needs no
  unit, so that one margin serves both, and two is the least that ordinary use calls much.
- Numbers are held to 10 %, indexes to 0.02, unless the claim argues another tolerance.
- A mix of flows is named as in the paper: (n_down, n_up).
- Comparisons are paired by seed. Where a sentence compares several schemes or points, Holm's correction applies.
- A sentence that says twice what another says shares its claim; the section lists both places.

Not claims: what describes an algorithm (III-A, Fig. 1), the set-up (IV-A), proposals that the paper does not simulate (II) or
the cost of keeping flow states (III-A).
"""

from wifair.papers.adaptive_pushout.claims.asymmetric import CLAIMS as ASYMMETRIC
from wifair.papers.adaptive_pushout.claims.asymmetric import DROPPED
from wifair.papers.adaptive_pushout.claims.symmetric import CLAIMS as SYMMETRIC
from wifair.papers.adaptive_pushout.claims.text import CLAIMS as TEXT

CLAIMS = (*TEXT, *SYMMETRIC, *ASYMMETRIC)

__all__ = ["CLAIMS", "DROPPED"]
