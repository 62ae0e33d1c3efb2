"""The images that an embedded model which reads images comes with: nothing can be typed for it, so it offers these."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import streamlit as st

from pages.components import library

FILE = "images.json"
PIXEL = 5  # of the screen, for one of the image


def of(known: library.Known) -> dict[str, list[list[float]]]:
    """By name, rows of brightness, 0 to 1; none for a model that reads texts, and for a visitor's own."""
    path = Path(known.target) / FILE
    return json.loads(path.read_text("utf-8")) if known.origin == "embedded" and path.is_file() else {}


def show(image: list[list[float]]) -> None:
    """The image itself, ink on paper, its pixels as squares."""
    ink = np.kron(1 - np.asarray(image), np.ones((PIXEL, PIXEL)))
    st.image(ink, width=ink.shape[1], clamp=True, output_format="PNG")
