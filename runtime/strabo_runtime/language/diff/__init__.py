"""Compares two versions of a protocol: which changes break whom, and which break nobody.

Somebody who keeps to the old version is still understood by the new one, or not: that is what the comparison says, not
whether an instance does the same. What nobody can tell, as for an expression that reads otherwise, counts as breaking.

    instances   an instance of OLD that would be carried on under NEW
    agents      an agent or person that plays a role as OLD describes it
    callers     whoever starts OLD, waits for its result, or finds its instances by their labels; a parent too
"""

from strabo_runtime.language.diff.comparison import compare
from strabo_runtime.language.diff.kinds import KINDS, Audience, Change, Comparison

__all__ = ["KINDS", "Audience", "Change", "Comparison", "compare"]
