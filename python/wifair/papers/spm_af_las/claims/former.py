"""Former rules of claims, each with its verdict."""

from wifair.papers.claims import Formerly
from wifair.papers.spm_af_las.measured import Measured

FORMERLY: dict[str, Formerly[Measured]] = {
    "3-downstream-wins": Formerly(
        "reproduced",
        "Goodput, downlink − uplink.",
    ),
    "3-own-queue-delays": Formerly(
        "reproduced",
        "Mean round trip, uplink − downlink.",
    ),
    "4-upstream-wins": Formerly(
        "reproduced",
        "Mean goodput, uplink − downlink.",
    ),
    "7a-small-files-suffer": Formerly(
        "reproduced",
        "COV of the small files, beside large ones over among themselves, with every number of hosts.",
    ),
    "7-two-to-ten-times": Formerly(
        "not reproduced",
        "COV of the small files over that of the large ones, mixed, within 2 to 10 with every number of hosts.",
    ),
    "11a-spm-af-reduces": Formerly(
        "trend only",
        "COV of the small files, tail drop − SPM-AF, with every number of hosts.",
    ),
    "11b-spm-af-improves-large": Formerly(
        "not reproduced",
        "COV of the large files, tail drop − SPM-AF, with every number of hosts.",
    ),
    "11-spm-af-comparable": Formerly(
        "not reproduced",
        "COV of the small files over that of the large ones, within a factor of 2 either way, with every "
        "number of hosts. The text prints no number.",
    ),
    "11-spm-af-outliers": Formerly(
        "trend only",
        "99 % quantile of the small files' times, tail drop − SPM-AF, with every number of hosts.",
    ),
    "11a-t-las-reduces": Formerly(
        "reproduced",
        "COV of the small files, tail drop − T-LAS, with every number of hosts.",
    ),
    "11-runs-end": Formerly(
        "not reproduced",
        "Share of the hosts with large files that have not loaded all of them when the run is cut (8 s for "
        "each of their files), below 0.01 under each scheme with every number of hosts.",
    ),
    "11-t-las-fair-to-both": Formerly(
        "trend only",
        "COV of the small and of the large files, tail drop − T-LAS, with every number of hosts.",
    ),
    "12-losses-transformed": Formerly(
        "trend only",
        "Loss ratio at the AP, long − short, with every number of hosts, both schemes: the order of Fig. 8 "
        "is turned round.",
    ),
    "8-half-or-more": Formerly(
        "trend only",
        "Reduction of the COV of the small files − 50 %, SPM-AF and T-LAS, with every number of hosts.",
    ),
    "8-large-files-keep-their-throughput": Formerly(
        "not reproduced",
        "Mean time of a large file, SPM-AF and T-LAS over tail drop, within 0.9 to 1.1 with every number of hosts.",
    ),
    "6-uplinks-win": Formerly(
        "reproduced",
        "Mean goodput of an uplink flow − twice that of a downlink flow, at every buffer up to 100 packets."
        " The text prints no number: twice is taken for much.",
    ),
    "6-losses-fall": Formerly(
        "reproduced",
        "Loss ratio under tail drop: its fall from 10 to 80 and from 80 to 150 packets.",
    ),
    "las-unfair-to-long-flows": Formerly(
        "reproduced",
        "The same scenario: fairness index of the five flows, tail drop and T-LAS over LAS.",
    ),
    "9b-rises-with-the-buffer": Formerly(
        "trend only",
        '"This result is consistent for most cases studied": share of the steps from buffer to buffer at '
        "which the index rises, above one half, for tail drop, SPM-AF and LAS.",
    ),
    "9b-both-improve": Formerly(
        "reproduced",
        "Fairness index, SPM-AF and LAS over tail drop, at every buffer up to 100 packets.",
    ),
    "9b-fewer-timeouts": Formerly(
        "reproduced",
        "Timeouts of the downlink flows for each 1000 segments, tail drop − SPM-AF, at every buffer up to 100 packets.",
    ),
}
