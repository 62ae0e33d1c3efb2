"""Training small Transformers, and the models that come with the project.

tasks         what can be learned, a package
objectives    what a batch is and how an answer is written, one class for each kind of task
loop          train(config, task, settings), one step at a time: its settings, schedules, arithmetic, records and state
tuning        the model that a run trains, fresh or gone on from a trained one (starts)
measure       how good a model is, and where it looks
model_folder  a trained model as a folder
runs          training in the background, a package: create, start, pause, ...;  worker: the process of one run
recipes       the settings of the models under assets/models;  pocket: the one set by hand

    python -m engine.training dates --out assets/models/dates
"""
