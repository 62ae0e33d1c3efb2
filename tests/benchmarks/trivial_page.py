"""The peer of the app: about the least that a Streamlit page can show and change."""

from __future__ import annotations

import streamlit as st

number = st.session_state.setdefault("number", 0)
if st.button("Next"):
    number = st.session_state["number"] = number + 1
st.write(f"Number {number}")
