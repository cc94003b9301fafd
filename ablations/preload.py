"""What the server that runs are forked from loads before the first of them, so that none has to."""

import gc

import ablations.child

__all__ = ["ablations"]

# a collection that went through all that was imported would take a third of a second in each run, and copy its pages
gc.collect()
gc.freeze()
