"""Attention Atlas, a visual explorer of the Transformer: streamlit run app.py"""

from __future__ import annotations

import streamlit as st

from pages.components import navigation, shell, start

start.serve_assets()
shell.run(st.navigation(navigation.pages(), position="hidden"))
start.warm_up()
