"""Forms made of the schema of settings: a widget for each field, of the kind and within the limits its schema says.

What was changed is kept in the session under the form's name, so that a field that is out of sight for a while keeps
its value; everything else is what the defaults say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import streamlit as st
from pydantic import BaseModel

from pages.components.form_words import option, word
from pages.components.language import _

Schema = Mapping[str, Any]
_CHANGED = "atlas.forms"


@dataclass(frozen=True)
class Form:
    """name: by which the session knows it; another name is another, unchanged form."""

    name: str
    definitions: Schema

    @property
    def changed(self) -> dict[str, Any]:
        """What the visitor has changed, by the path of its field."""
        return st.session_state.setdefault(_CHANGED, {}).setdefault(self.name, {})

    def resolved(self, schema: Schema) -> Schema:
        """A field's schema without references, and without the null that a field may also be."""
        if "$ref" in schema:
            named = self.definitions[schema["$ref"].rpartition("/")[2]]
            return {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
        if "anyOf" in schema:
            choices = [one for one in schema["anyOf"] if one.get("type") != "null"]
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return {**self.resolved(choices[0]), **rest, "nullable": len(choices) < len(schema["anyOf"])}
        return schema

    def draw(
        self, schema: Schema, names: Sequence[str], defaults: Mapping[str, Any], above: str = ""
    ) -> dict[str, Any]:
        """The fields of those names, two in a row; their values now. What a field consists of stands below the rows."""
        values: dict[str, Any] = {}
        columns = st.columns(2, gap="small")
        for at, name in enumerate(names):
            field = self.resolved(schema["properties"][name])
            path, default = f"{above}{name}", defaults.get(name, field.get("default"))
            if "oneOf" in field:
                with columns[at % 2]:
                    tag, chosen = self.variant(path, field, default)
                values[name] = {tag: chosen, **self.details(path, field, tag, chosen, default)}
            elif "properties" in field:
                values[name] = self.draw(field, drawable(self, field), default or {}, f"{path}.")
            else:
                with columns[at % 2]:
                    values[name] = WIDGETS[kind_of(field)](self, path, field, default)
        return values

    def variant(self, path: str, schema: Schema, default: Any) -> tuple[str, str]:
        """Which of several settings: the name of the field that tells, and what it is."""
        tag, mapping = schema["discriminator"]["propertyName"], schema["discriminator"]["mapping"]
        before = default[tag] if default else next(iter(mapping))
        return tag, choice(self, path, {**schema, "enum": list(mapping)}, before)

    def details(self, path: str, schema: Schema, tag: str, chosen: str, default: Any) -> dict[str, Any]:
        """What the chosen one has to be told."""
        variant = self.resolved({"$ref": schema["discriminator"]["mapping"][chosen]})
        known = default if default and default[tag] == chosen else {}
        names = [name for name in drawable(self, variant) if name != tag]
        return self.draw(variant, names, known, f"{path}.{chosen}.") if names else {}

    def kept(self, path: str, default: Any) -> Any:
        return self.changed.get(path, default)

    def keep(self, path: str, key: str) -> None:
        self.changed[path] = st.session_state[key]

    def widget(self, path: str, value: Any) -> dict[str, Any]:
        """What every widget is given: its label, its key, set to the value, and what happens when it is used."""
        key = f"atlas-{self.name}-{path}"
        st.session_state[key] = value
        return {"key": key, "on_change": self.keep, "args": (path, key)}


def form(name: str, settings: type[BaseModel]) -> tuple[Form, Schema]:
    """A form for these settings, and their schema."""
    schema = _schema(settings)
    return Form(name, schema.get("$defs", {})), schema


@lru_cache(maxsize=64)
def _schema(settings: type[BaseModel]) -> Schema:
    return settings.model_json_schema()


def drawable(form: Form, schema: Schema) -> list[str]:
    """The fields that there is a widget for."""
    found = []
    for name, raw in schema["properties"].items():
        field = form.resolved(raw)
        variants = "oneOf" in field and not field.get("nullable")  # what may also be none is left at that
        if variants or "properties" in field or kind_of(field) in WIDGETS:
            found.append(name)
    return found


def kind_of(schema: Schema) -> str:
    if schema.get("type") == "array":
        return "several" if "enum" in schema.get("items", {}) else "list"
    return "choice" if "enum" in schema else "fixed" if "const" in schema else schema.get("type", "")


def choice(form: Form, path: str, schema: Schema, default: Any) -> Any:
    value, names = form.kept(path, default), {one: option(one) for one in schema["enum"]}
    st.selectbox(
        label(path, schema), schema["enum"], format_func=names.__getitem__, **form.widget(path, value)
    )
    return value


def switch(form: Form, path: str, schema: Schema, default: Any) -> bool:
    value = bool(form.kept(path, default))
    st.checkbox(label(path, schema), **form.widget(path, value))
    return value


def several(form: Form, path: str, schema: Schema, default: Any) -> list[Any]:
    value = list(form.kept(path, default))
    st.multiselect(label(path, schema), schema["items"]["enum"], **form.widget(path, value))
    return value


def words(form: Form, path: str, schema: Schema, default: Any) -> str | None:
    value = form.kept(path, default) or ""
    shown = ", ".join(map(str, schema.get("examples", ())))
    st.text_input(label(path, schema), autocomplete="off", placeholder=shown, **form.widget(path, value))
    return value.strip() or None


def number(form: Form, path: str, schema: Schema, default: Any) -> float | int | None:
    """Within the schema's limits; an empty field is none where that may be, and the default where not."""
    whole = schema["type"] == "integer"
    value = form.kept(path, default)
    convert = int if whole else float
    low, high = (
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
    )
    if whole and "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + 1
    st.number_input(
        label(path, schema), min_value=None if low is None else convert(low),
        max_value=None if high is None else convert(high),
        step=schema.get("multipleOf", 1) if whole else stride(default),
        format="%d" if whole else "%g", placeholder=_("none") if schema.get("nullable") else plain(str(default)),
        **form.widget(path, None if value is None else convert(value)),
    )  # fmt: skip
    return value if value is not None or schema.get("nullable") else default


def stride(value: Any) -> float:
    """What one press of plus adds: half of the power of ten that the value has."""
    return 0.05 if not value else 10.0 ** math.floor(math.log10(abs(value))) / 2


def label(path: str, schema: Schema) -> str:
    return word(path.rpartition(".")[2], schema.get("title", ""))


def plain(value: Any) -> str:
    return str(value).replace("_", " ")


WIDGETS = {
    "choice": choice, "boolean": switch, "integer": number, "number": number, "several": several, "string": words,
}  # fmt: skip
