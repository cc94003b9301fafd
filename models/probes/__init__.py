"""Mechanism measured on a model as it stands, without training it: one function a probe, one line in a table."""

from models.probes.attention import attention_entropy, attention_mass
from models.probes.base import Measurement, Probe
from models.probes.complexity import core_growth, seconds, sequential_operations
from models.probes.costs import cost
from models.probes.gradients import gradient_norm
from models.probes.identities import equal_keys, frozen_linear, per_word, permutation
from models.probes.leak import honest_loss, leak
from models.probes.masks import beyond_table, mask
from models.probes.norms import norm_statistics
from models.probes.rank import attention_rank
from models.probes.reach import reach
from models.probes.scores import scores
from models.probes.stacked import stacked
from models.probes.tokens import token_similarity
from models.probes.translation import source_reach

__all__ = ["PROBES", "Measurement", "Probe"]

PROBES: dict[str, Probe] = {
    "reach": reach,
    "gradient-norm": gradient_norm,
    "attention-mass": attention_mass,
    "attention-entropy": attention_entropy,
    "attention-rank": attention_rank,
    "scores": scores,
    "token-similarity": token_similarity,
    "norm-statistics": norm_statistics,
    "leak": leak,
    "honest-loss": honest_loss,
    "equal-keys": equal_keys,
    "permutation": permutation,
    "per-word": per_word,
    "frozen-linear": frozen_linear,
    "stacked": stacked,
    "mask": mask,
    "beyond-table": beyond_table,
    "source-reach": source_reach,
    "cost": cost,
    "sequential-operations": sequential_operations,
    "core-growth": core_growth,
    "seconds": seconds,
}
