"""Readers and writers at once: every answer is one a serial engine could have given."""

import threading
import time

import numpy as np
from tests.soak.churn import Churn


def test_concurrent_changes_and_matches_agree_with_a_serial_oracle():
    churn = Churn(seed=1, merge_least=400)
    deadline = time.monotonic() + 4
    threads = [threading.Thread(target=churn.write, args=(deadline,))]
    threads += [threading.Thread(target=churn.read, args=(deadline, seed)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    churn.finish()
    assert churn.problems == []
    assert churn.checked > 10
    assert np.all(churn.engine.stats().matches >= 0)
