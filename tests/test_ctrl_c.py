"""Ctrl-C is noted while a study is at work."""

from __future__ import annotations

import signal
import threading

import pytest
from wifair.study.ctrl_c import noted_ctrl_c


def test_the_first_press_is_noted_and_the_second_raises() -> None:
    with noted_ctrl_c() as pressed:
        assert not pressed()
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_another_meaning_of_ctrl_c_is_kept() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        with noted_ctrl_c() as pressed:
            signal.raise_signal(signal.SIGINT)
            assert not pressed()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_a_thread_leaves_ctrl_c_alone() -> None:
    def work() -> None:
        with noted_ctrl_c() as pressed:
            found.append(pressed())

    found: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
