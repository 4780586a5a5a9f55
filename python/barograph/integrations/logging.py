# SPDX-License-Identifier: Apache-2.0
"""Records of `logging` as marks: `logging.getLogger("train").addHandler(MarkHandler(logging.INFO))`."""

from __future__ import annotations

import logging

from .._current import mark

_LONGEST = 200  # characters of a name


class MarkHandler(logging.Handler):
    """Each record is a mark: its message the name, logger and level attributes. A recorder takes 1,000 a second."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            more = {"error": record.exc_info[0].__name__} if record.exc_info and record.exc_info[0] else {}
            mark(record.getMessage()[:_LONGEST], logger=record.name, level=record.levelname, **more)
        except Exception:
            self.handleError(record)
