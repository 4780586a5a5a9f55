# SPDX-License-Identifier: Apache-2.0
"""transformers: `Trainer(..., callbacks=[barograph.integrations.transformers.callback()])`."""

from __future__ import annotations

from typing import Any

from .._current import mark
from ._base import Phases, base_of, numbers


def callback() -> Any:
    """A callback: training and epochs are phases; what the trainer logs, evaluations and checkpoints are marks."""
    base = base_of("transformers:TrainerCallback")
    phases = Phases()

    class Barograph(base):  # type: ignore[misc,valid-type]
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            phases.begin("train")

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            phases.end("epoch")
            phases.end("train")

        def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            phases.begin("epoch", number=int(state.epoch or 0))

        def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            phases.end("epoch")

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            mark("log", **{**numbers(logs), "step": int(state.global_step)})

        def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **_: Any) -> None:
            mark("evaluate", **{**numbers(metrics), "step": int(state.global_step)})

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            mark("save", step=int(state.global_step))

        def __reduce__(self) -> Any:
            """For workers that are spawned: the class is made where the framework is imported."""
            return callback, ()

    return Barograph()
