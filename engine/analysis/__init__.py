"""From a Trace (and weights) to frozen dataclasses of numpy arrays. Neither Plotly nor Streamlit here."""
