"""How a run is asked to end in good order: by SIGUSR1 from its sweep, by SIGTERM from a scheduler."""

import signal
from types import FrameType

STOPPED = 75
"""Exit status of a run that has ended because it was asked to; EX_TEMPFAIL of sysexits.h."""


class Stopped(SystemExit):
    """Ends the process of a run: it goes on from its last checkpoint when it is started again."""

    def __init__(self) -> None:
        super().__init__(STOPPED)


class StopRequest:
    """Whether this process was asked to end.

    While `deferred`, in the middle of the training, it is left to the training to write a checkpoint and raise Stopped;
    at all other times Stopped is raised at once.
    """

    def __init__(self) -> None:
        self.made = False
        self.deferred = False
        self._listening = False

    def listen(self) -> None:
        """Hear the signals from now on; for the main thread."""
        self._listening = True
        for number in (signal.SIGUSR1, signal.SIGTERM):
            signal.signal(number, self._hear)

    def listen_again(self) -> None:
        """Take the signals back from lightning, whose handler of SIGTERM may wait for other ranks for ever."""
        if self._listening:
            self.listen()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.made = True
        if not self.deferred:
            raise Stopped
