"""What the server that runs are forked from loads before the first of them, so that none has to."""

import signal

# what is sent to the whole group, by a terminal or a scheduler, is the sweep's to handle; the server ends with it
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

import gc  # noqa: E402

import ablations.child  # noqa: E402

__all__ = ["ablations"]

# a collection that went through all that was imported would take a third of a second in each run, and copy its pages
gc.collect()
gc.freeze()
