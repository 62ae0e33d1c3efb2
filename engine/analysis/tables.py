"""A walk as tables: the figure's numbers for whoever reads, sorts or files them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from engine.analysis.head_walk import HeadWalk

FIRST_STROKE = {"softmax": "exp", "relu": "relu"}


def row_table(walk: HeadWalk) -> pd.DataFrame:
    """One row a shown key: position, token, score, scaled, bias where there is one, masked, the core's first
    stroke, weight.
    """
    columns = {
        "position": list(walk.shown),
        "token": [walk.key_tokens[key].label for key in walk.shown],
        "score": walk.scores,
        "scaled": walk.scaled,
        "masked": walk.masked,
        FIRST_STROKE[walk.core]: walk.positive,
        "weight": walk.weights,
    }
    table = pd.DataFrame(columns)
    if walk.bias is not None:
        table.insert(4, "bias", walk.bias)
    return table


def matrix_table(walk: HeadWalk) -> pd.DataFrame:
    """One row a cell: query, its token, key, its token, weight, visible."""
    query, key = np.indices(walk.matrix.shape).reshape(2, -1)
    return pd.DataFrame(
        {
            "query": query,
            "query_token": [walk.query_tokens[i].label for i in query],
            "key": key,
            "key_token": [walk.key_tokens[i].label for i in key],
            "weight": walk.matrix.ravel(),
            "visible": walk.visible.ravel(),
        }
    )
