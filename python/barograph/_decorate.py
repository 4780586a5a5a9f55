# SPDX-License-Identifier: Apache-2.0
"""Decorators of functions, coroutines and generators. A module of its own: inspect takes long to import."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def decorated(function: _F, context: Callable[[], Any]) -> _F:
    """Each call of the function, coroutine or generator runs in a context of its own."""
    if inspect.isasyncgenfunction(function):
        made: Any = _of_async_generator(function, context)
    elif inspect.iscoroutinefunction(function):
        made = _of_coroutine(function, context)
    elif inspect.isgeneratorfunction(function):
        made = _of_generator(function, context)
    else:
        made = _of_function(function, context)
    return made  # type: ignore[no-any-return]


def _of_async_generator(function: Any, context: Callable[[], Any]) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        async with context():
            inner = function(*args, **kwargs)
            step = inner.__anext__()
            while True:
                try:
                    given = await step
                except StopAsyncIteration:
                    return
                try:
                    sent = yield given
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
                else:
                    step = inner.asend(sent)

    return wrapper


def _of_coroutine(function: Any, context: Callable[[], Any]) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        async with context():
            return await function(*args, **kwargs)

    return wrapper


def _of_generator(function: Any, context: Callable[[], Any]) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with context():
            return (yield from function(*args, **kwargs))

    return wrapper


def _of_function(function: Any, context: Callable[[], Any]) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return wrapper
