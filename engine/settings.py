"""What all settings are: frozen values of exact types that travel as JSON, refused in one sentence. No torch here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from engine.errors import AtlasError, is_whole, shown

LARGEST = 2**53 - 1  # the last whole number up to which every reader of JSON has each
Count = Annotated[int, Field(ge=1, le=LARGEST)]
Index = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[
    float, Field(ge=1e-30, le=1e30)
]  # float32 holds it and its inverse, with room to multiply

# What is wrong by pydantic's name for it -> what is said of it; names in braces are those of its context.
SENTENCES = {
    "missing": "{where} is missing",
    "extra_forbidden": "there is no setting called {where}",
    "int_type": "{where} must be a whole number, not {value}",
    "float_type": "{where} must be a number, not {value}",
    "finite_number": "{where} must be a finite number, not {value}",
    "bool_type": "{where} must be true or false, not {value}",
    "string_type": "{where} must be a text, not {value}",
    "tuple_type": "{where} must be a list, not {value}",
    "dict_type": "{where} must be settings by their names, not {value}",
    "model_type": "{where} must be settings by their names, not {value}",
    "model_attributes_type": "{where} must be settings by their names, not {value}",
    "literal_error": "{where} must be one of {expected}, not {value}",
    "union_tag_not_found": "{where} must say by {discriminator} which it is",
    "union_tag_invalid": "{where} must be one of {expected_tags}, not {tag}",
    "greater_than": "{where} must be more than {gt}, not {value}",
    "greater_than_equal": "{where} must be at least {ge}, not {value}",
    "less_than": "{where} must be less than {lt}, not {value}",
    "less_than_equal": "{where} must be at most {le}, not {value}",
    "multiple_of": "{where} must be a multiple of {multiple_of}, not {value}",
    "too_short": "{where} must hold at least {min_length}, not {value}",
    "string_too_short": "{where} must be a text of at least {min_length} characters, not {value}",
    "string_too_long": "{where} must be a text of at most {max_length} characters, not {value}",
    "string_pattern_mismatch": "{where} must be of the form {pattern}, not {value}",
    "json_invalid": "{where} is not JSON: {error}",
}
OTHER = "{where}: {what}"


def _in_a_sentence(validate: Callable[..., Any]) -> Callable[..., Any]:
    """One of pydantic's ways in, whose errors become ours; what pydantic notes about it is kept."""

    @wraps(validate)
    def validated(*given: Any, **named: Any) -> Any:
        try:
            return validate(*given, **named)
        except ValidationError as error:
            raise first_sentence(error) from None

    return validated


class Settings(BaseModel):
    """Frozen values that travel as JSON. Whatever does not fit, or is not known, is refused with an AtlasError.

    Types are exact: True is no number, nor is "2".
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)

    if not TYPE_CHECKING:  # a checker shall see the typed constructor that pydantic generates
        __init__ = _in_a_sentence(BaseModel.__init__)
        model_validate = classmethod(_in_a_sentence(BaseModel.model_validate.__func__))
        model_validate_json = classmethod(_in_a_sentence(BaseModel.model_validate_json.__func__))

    @model_validator(mode="before")
    @classmethod
    def _as_it_is_meant(cls, values: Any) -> Any:
        """JSON has lists for tuples, and numpy whole numbers of its own."""
        return {name: _plain(value) for name, value in values.items()} if isinstance(values, dict) else values


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return int(value) if is_whole(value) else value


def first_sentence(error: ValidationError) -> AtlasError:
    """The first thing wrong as one sentence: our own where we raised it, else pydantic's finding with its place."""
    first = error.errors(include_url=False)[0]
    context = first.get("ctx", {})
    if isinstance(own := context.get("error"), AtlasError):
        return own
    where = ".".join(str(part) for part in first["loc"]) or error.title
    if "expected" in context:
        context["expected"] = context["expected"].replace(" or ", ", ")  # a list in any language
    said = {**context, "where": where, "value": shown(first["input"]), "what": first["msg"]}
    return AtlasError(SENTENCES.get(first["type"], OTHER), **said)
