"""Every sentence of the paper that states a result, with its test."""

from dataclasses import replace

from wifair.papers.spm_af_las.claims.arguments import CLAIMS as ARGUMENTS
from wifair.papers.spm_af_las.claims.arguments import DROPPED
from wifair.papers.spm_af_las.claims.experiments import CLAIMS as EXPERIMENTS
from wifair.papers.spm_af_las.claims.files import CLAIMS as FILES
from wifair.papers.spm_af_las.claims.former import FORMERLY
from wifair.papers.spm_af_las.claims.up_down import CLAIMS as UP_DOWN

EVERY = (*ARGUMENTS, *EXPERIMENTS, *UP_DOWN, *FILES)
CLAIMS = tuple(replace(claim, formerly=FORMERLY.get(claim.id)) for claim in EVERY)

__all__ = ["CLAIMS", "DROPPED"]
