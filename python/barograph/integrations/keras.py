# SPDX-License-Identifier: Apache-2.0
"""Keras: `model.fit(..., callbacks=[barograph.integrations.keras.callback()])`."""

from __future__ import annotations

from typing import Any

from .._current import mark
from ._base import Phases, base_of, numbers


def callback() -> Any:
    """A callback: training, epochs, tests and predictions are phases; the end of each epoch is a mark with its logs."""
    base = base_of("keras.callbacks:Callback", "tensorflow.keras.callbacks:Callback")
    phases = Phases()

    class Barograph(base):  # type: ignore[misc,valid-type]
        def on_train_begin(self, logs: Any = None) -> None:
            phases.begin("fit")

        def on_train_end(self, logs: Any = None) -> None:
            phases.end("epoch")
            phases.end("fit")

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            phases.begin("epoch", number=int(epoch))

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            phases.end("epoch")
            mark("epoch end", **{**numbers(logs), "number": int(epoch)})

        def on_test_begin(self, logs: Any = None) -> None:
            phases.begin("test")

        def on_test_end(self, logs: Any = None) -> None:
            phases.end("test")

        def on_predict_begin(self, logs: Any = None) -> None:
            phases.begin("predict")

        def on_predict_end(self, logs: Any = None) -> None:
            phases.end("predict")

        def __reduce__(self) -> Any:
            """For workers that are spawned: the class is made where the framework is imported."""
            return callback, ()

    return Barograph()
