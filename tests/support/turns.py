"""Several workers that take turns wherever they ask for it: threads of which one runs at a time, in a given order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

Work = Callable[[], None]


class Turns:
    """Run work side by side. `pass_to(n)` within one worker lets worker n go on, and returns when its turn comes again.

    What a worker raises is raised by `run`, when all have ended. The order is the caller's, so a run can be repeated.
    """

    def __init__(self) -> None:
        self._gates: list[threading.Semaphore] = []
        self._alive: list[bool] = []
        self._errors: list[BaseException] = []
        self._done = threading.Semaphore(0)
        self.current = 0

    def run(self, works: Sequence[Work]) -> None:
        """Begin with the first; who ends hands over to the next that is left."""
        self._gates = [threading.Semaphore(0) for _ in works]
        self._alive = [True] * len(works)
        threads = [threading.Thread(target=self._act, args=(number, work)) for number, work in enumerate(works)]
        for thread in threads:
            thread.start()
        self._hand_to(0)
        self._done.acquire()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def pass_to(self, number: int) -> None:
        """Let another go on; nothing happens if it has ended, or is the one that asks."""
        own = self.current
        number %= len(self._alive) or 1
        if self._alive and self._alive[number] and number != own:
            self._hand_to(number)
            self._gates[own].acquire()
            self.current = own

    def _hand_to(self, number: int) -> None:
        self.current = number
        self._gates[number].release()

    def _act(self, number: int, work: Work) -> None:
        self._gates[number].acquire()
        self.current = number
        try:
            work()
        except BaseException as error:  # noqa: BLE001, of a thread: told by run
            self._errors.append(error)
        self._alive[number] = False
        left = [other for other, is_alive in enumerate(self._alive) if is_alive]
        if left:
            self._hand_to(left[0])
        else:
            self._done.release()
