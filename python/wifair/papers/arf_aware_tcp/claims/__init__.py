"""Every printed result of the paper as a claim that is tested.

Rules for all claims:

- Throughput is payload delivered in order over the whole run, in kbps. The index is the paper's: Jain's on R_i / T_i, T_i the
  time-weighted link rate as the run recorded it.
- Numbers are held to 10 %, indexes to 0.02, unless the claim argues another tolerance.
- "Much", "very" and "suffers" mean at least a tenth (reasons: `margins.MUCH`).
- The setting was fitted to the NewReno throughputs and indexes of Tables 1 to 5, and their sums follow from the
  throughputs: the verdict of all three is `calibrated`. So are five claims on NewReno alone that follow from these numbers:
  `4-newreno-fair` compares two fitted indexes; `1-throughputs-equal`, `2-newreno-suffers`, `9-anomaly` and `7-drops-seriously`
  compare rates before and after the change, which `margins.implied_kept` computes from the columns alone. `9-recovers` is
  not one of them: in no column do rates return. The ARF-aware columns were not used.
- Table 5 prints four of five sessions (`study.py`); its sum and index are those of the four.
- "Before" is 5 to 20 s, "after" 25 s to the end (or to 70 s, where the rate comes back then).
- Comparisons are paired by seed.

Not claims: descriptions of the algorithm (section 3), others' proposals (section 2), and ease of deployment.
"""

from wifair.papers.arf_aware_tcp.claims.figures import CLAIMS as FIGURES
from wifair.papers.arf_aware_tcp.claims.tables import CLAIMS as TABLES
from wifair.papers.arf_aware_tcp.claims.text import CLAIMS as TEXT

CLAIMS = (*TABLES, *TEXT, *FIGURES)

__all__ = ["CLAIMS"]
