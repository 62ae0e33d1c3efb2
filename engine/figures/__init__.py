"""From an analysis dataclass to a Plotly figure, purely. The only importer of Plotly; neither torch nor Streamlit."""
