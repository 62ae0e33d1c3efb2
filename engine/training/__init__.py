"""Training small Transformers, and the models that come with the project.

tasks         what can be learned, a package
loop          train(config, task, settings), one step at a time
measure       how good a model is, and where it looks
model_folder  a trained model as a folder
runs          training in the background: create, start, pause, ...; run_folder, status, queue and metrics below
recipes       the settings of the models under assets/models;  pocket: the one set by hand

    python -m engine.training dates --out assets/models/dates
"""
