"""Parameters of the command line, made of the models that define the commands."""

import inspect
from collections.abc import Callable, Iterator
from datetime import datetime
from enum import Enum
from functools import wraps
from inspect import Parameter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from pydantic import BeforeValidator, ValidationError
from pydantic.fields import FieldInfo

from pipelines.cli.completion import NAMES
from pipelines.commands import Argument, Command, Option, written
from pipelines.errors import InvalidInput
from pipelines.running_command import begin_command

C = TypeVar("C", bound=Command)
R = TypeVar("R")


def checked(kind: type[C], **parameters: Any) -> C:
    """The command with these parameters.

    Raises:
        InvalidInput: when the model refuses one of them.
    """
    try:
        return kind(**parameters)
    except ValidationError as error:
        faults = [
            ": ".join([*filter(None, [".".join(map(str, fault["loc"]))]), fault["msg"].removeprefix("Value error, ")])
            for fault in error.errors()
        ]
        raise InvalidInput(f"{'; '.join(faults)}.") from error


def takes(kind: type[C]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """A decorator of a function `(command, …)`, whose first parameter is given as the fields of `kind`.

    What is done then names the command. Called with their values, it raises `InvalidInput` when the model refuses one
    of them.
    """

    def decorator(function: Callable[..., R]) -> Callable[..., R]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        @wraps(function)
        def called(**values: Any) -> R:
            rest = {parameter.name: values.pop(parameter.name) for parameter in own}
            begin_command(" ".join(("pts", *kind.words)))
            return function(checked(kind, **_by_current_names(kind, values)), **rest)

        every = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*_parameters(kind), *own)]
        called.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in every}
        return called

    return decorator


def _parameters(kind: type[Command]) -> Iterator[Parameter]:
    for name, given in kind.given().items():
        field = kind.model_fields[name]
        default = Parameter.empty if field.is_required() else _shown(field.default)
        completed = given.names and NAMES[given.names]
        info = (
            typer.Argument(help=given.help, autocompletion=completed)
            if isinstance(given, Argument)
            else typer.Option(given.name, help=given.help, autocompletion=completed)
        )
        kinds: Any = _type(field)
        yield _parameter(name, kinds if default is not None else kinds | None, info, default)
        for former in given.former_names if isinstance(given, Option) else ():
            yield _parameter(_former(name, former), kinds | None, typer.Option(former, hidden=True), None)


def _parameter(name: str, kind: Any, info: Any, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default)


def _shown(default: object) -> object:
    """A default as typer has it: what several values may be given for is None without one."""
    if isinstance(default, datetime):
        return written(default)
    return None if default == () else default


def _type(field: FieldInfo) -> Any:
    """The type by which typer reads a parameter; what only the model can read is text."""
    kind: Any = field.annotation
    if get_origin(kind) in (Union, UnionType):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is tuple:
        return list[get_args(kind)[0]]  # type: ignore[misc]
    is_read_here = get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, (str, int, float, Enum)))
    is_text = not is_read_here or any(isinstance(each, BeforeValidator) for each in field.metadata)
    return str if is_text else kind


def _former(name: str, option: str) -> str:
    return f"{name}_once_{option.strip('-')}"


def _by_current_names(kind: type[Command], values: dict[str, Any]) -> dict[str, Any]:
    """The values that were given; those of former names by the current ones.

    Raises:
        InvalidInput: when one is given by both.
    """
    current = {name: values[name] for name in kind.model_fields if values[name] is not None}
    for name, given in kind.given().items():
        if not isinstance(given, Option):
            continue
        for former in given.former_names:
            if (value := values[_former(name, former)]) is None:
                continue
            if name in current:
                raise InvalidInput(f"{former} is the former name of {given.name}: give one of them.")
            current[name] = value
    return current
