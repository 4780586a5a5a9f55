# SPDX-License-Identifier: Apache-2.0
"""Lightning: `Trainer(callbacks=[barograph.integrations.lightning.callback()])`."""

from __future__ import annotations

from typing import Any

from .._current import mark
from ._base import Phases, base_of, numbers


def callback() -> Any:
    """A callback: fit, epochs, validation, test and prediction are phases; the end of each epoch is a mark with the
    metrics that the trainer has."""
    base = base_of("lightning.pytorch:Callback", "pytorch_lightning:Callback")
    phases = Phases()

    class Barograph(base):  # type: ignore[misc,valid-type]
        def on_fit_start(self, trainer: Any, module: Any) -> None:
            phases.begin("fit")

        def on_fit_end(self, trainer: Any, module: Any) -> None:
            phases.end("fit")

        def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
            phases.begin("epoch", number=trainer.current_epoch)

        def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
            phases.end("epoch")
            mark("epoch end", **{**numbers(trainer.callback_metrics), "number": trainer.current_epoch})

        def on_validation_start(self, trainer: Any, module: Any) -> None:
            phases.begin("validation")

        def on_validation_end(self, trainer: Any, module: Any) -> None:
            phases.end("validation")

        def on_test_start(self, trainer: Any, module: Any) -> None:
            phases.begin("test")

        def on_test_end(self, trainer: Any, module: Any) -> None:
            phases.end("test")

        def on_predict_start(self, trainer: Any, module: Any) -> None:
            phases.begin("predict")

        def on_predict_end(self, trainer: Any, module: Any) -> None:
            phases.end("predict")

        def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
            phases.end_all(error=type(exception).__name__)

        def __reduce__(self) -> Any:
            """For workers that are spawned: the class is made where the framework is imported."""
            return callback, ()

    return Barograph()
