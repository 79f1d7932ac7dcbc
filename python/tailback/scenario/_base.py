"""What all generated scenario types share: strict fields, quantities with units, and short dumps. Which fields there
are is generated; what their values may be is checked by the core."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tailback.custom.registry import PartTable
from tailback.errors import Problem, ScenarioError, nearest
from tailback.units import shown

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _Model
else:
    _Model = type(BaseModel)


class Quantity:
    """Text with a unit. Numbers are refused with what is allowed, since units are never guessed."""

    def __init__(self, allowed: str) -> None:
        self.allowed = allowed

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accepts text alone; whether it is such a quantity is for the core to say."""
        return core_schema.no_info_before_validator_function(self._text, handler(source))

    def _text(self, value: object) -> object:
        if not isinstance(value, str):
            raise PydanticCustomError("quantity", "expected {allowed}", {"allowed": self.allowed})
        return shown(value)


class Kind:
    """Plain values of one kind, as files have them: ``"3"``, ``True`` and ``3.0`` are no whole numbers, ``1`` and ``"yes"`` no
    truth values. NumPy's are taken for Python's."""

    def __init__(self, allowed: str, *types: type) -> None:
        self.allowed = allowed
        self.types = types

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accepts values of these types alone; what range they may have is said beside."""
        return core_schema.no_info_before_validator_function(self._exactly, handler(source))

    def _exactly(self, value: object) -> object:
        found = value.item() if hasattr(value, "__array__") and getattr(value, "ndim", 1) == 0 else value  # type: ignore[attr-defined]  # NumPy's scalars have it.
        if not isinstance(found, self.types) or (isinstance(found, bool) and bool not in self.types):
            raise PydanticCustomError("kind", "expected {allowed}", {"allowed": self.allowed})
        return found


Whole: TypeAlias = Annotated[int, Kind("a whole number", int)]
"""A whole number."""
Number: TypeAlias = Annotated[float, Kind("a number", int, float)]
"""A number."""
Truth: TypeAlias = Annotated[bool, Kind("true or false", bool)]
"""A truth value."""
Text: TypeAlias = Annotated[str, Kind("a text", str)]
"""A text."""


class _Told(_Model):
    """The type of parts of scenarios: what is wrong with their arguments is told as everywhere, and their fields are told
    when somebody asks, since to read them takes longer than most commands."""

    if not TYPE_CHECKING:  # Which a checker of types would take for what the classes themselves are called with.

        @property
        def __doc__(self) -> str:
            """The text of the class, and its fields: for ``help`` and notebooks."""
            from tailback.scenario.described import field_texts

            text = inspect.cleandoc(self.__dict__.get("__doc__") or self.__name__)
            texts = field_texts(self)
            fields = {name: self.model_fields[name] for name in (*self.ORDER, *self.model_fields)}
            told = [(field.alias or name, texts[name]) for name, field in fields.items() if name in texts]
            listed = "\n".join(f"- {name}: {said}" for name, said in told)
            return f"{text}\n\nFields:\n\n{listed}" if told else text

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Makes a part.

            Raises:
                ScenarioError: everything that is not allowed, at once.
            """
            if args:
                first = next(iter(self.model_fields), "name")
                raise ScenarioError([Problem("arguments", repr(args[0]), f"its name, as in {first}=…")], self.__name__)
            if not kwargs and not any(field.is_required() for field in self.model_fields.values()):
                return self.model_construct()  # Nothing was said, so nothing is checked: most defaults are made so.
            try:
                return super().__call__(**kwargs)
            except ValidationError as error:
                from tailback.scenario.problems import from_pydantic

                fields = [field.alias or name for name, field in self.model_fields.items()]
                raise ScenarioError(from_pydantic(error, fields), self.__name__) from None


class Part(BaseModel, metaclass=_Told):
    """A part of a scenario: unchangeable, without unknown fields."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        defer_build=True,  # A command that needs one type waits for no other.
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        ser_json_inf_nan="strings",
    )
    TAG: ClassVar[str] = ""
    """The field that tells this member of a choice from the others."""
    ORDER: ClassVar[tuple[str, ...]] = ()
    """The fields as they are told, where inherited ones do not come first."""

    def __dir__(self) -> Iterable[str]:
        """What a notebook completes: fields and methods of ours, without pydantic's."""
        theirs = set(dir(BaseModel))
        return [name for name in super().__dir__() if name not in theirs or name.startswith("__")]

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuses, and says how else."""
        if name in type(self).model_fields:
            raise AttributeError(
                f"{name}: {type(self).__name__} does not change; expected replace({name}=…) of the scenario"
            )
        if not name.startswith("_"):
            near = nearest(name, type(self).model_fields)
            meant = f" (did you mean {near}?)" if near else ""
            raise AttributeError(f"{name}: {type(self).__name__} has no such field{meant}, and does not change")
        super().__setattr__(name, value)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """What was said, without the defaults: long enough."""
        return [
            (name, value)
            for name, value in super().__repr_args__()
            if name not in type(self).model_fields or name in self.model_fields_set
        ]

    def __str__(self) -> str:
        """As it is typed."""
        return repr(self)

    @model_serializer(mode="wrap")
    def _with_tag(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The tag stays when what was not said is left out: without it, nobody could read the rest.
        data: dict[str, Any] = handler(self)
        fields = type(self).model_fields
        names = [fields[name].alias or name for name in self.ORDER]
        data = {**{name: data[name] for name in names if name in data}, **data}
        return {self.TAG: getattr(self, self.TAG), **data} if self.TAG else data


_DEEPEST = 100
"""The core reads no more levels of JSON than 127."""


def plain(value: Any, where: tuple[str, ...] = ()) -> Any:
    """Parts, also inside tables and lists, as the plain data of JSON: what was said of them, without defaults."""
    if isinstance(value, Part):
        return value.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    if len(where) > _DEEPEST and isinstance(value, Mapping | list | tuple):
        field = ".".join([*where[:3], "…"])
        allowed = f"at most {_DEEPEST} levels of tables and lists"
        raise ScenarioError([Problem(field, "what has more levels, or is part of itself,", allowed)])
    if isinstance(value, PartTable):
        value.expect_current()
    if isinstance(value, Mapping):
        return {key: plain(entry, (*where, str(key))) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry, (*where, str(place))) for place, entry in enumerate(value)]
    return os.fspath(value) if isinstance(value, os.PathLike) else value
