"""Figures of what a case of the Clinic measured: the broken listing beside the mended one, on one scale.

pair    the sheet that both stand on
curves  one quantity over another
grids   a matrix
scale   its colours
marks   what is no number, and what may not be seen: hatched and named, never a colour of the scale
"""
