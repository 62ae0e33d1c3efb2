"""How fast, how large: commands that print tables, not tests that can fail.

python -m tests.benchmarks.start      from starting the server to attention that moves
python -m tests.benchmarks.click      another head, layer, query or key: the server's part; and beside a run
python -m tests.benchmarks.painted    the same, from the click to the painted figure
python -m tests.benchmarks.capture    a forward that keeps everything
python -m tests.benchmarks.training_start  from a click on Start to the first point of the curve
python -m tests.benchmarks.train_step a step of training
python -m tests.benchmarks.decode     tokens per second, from a cache
python -m tests.benchmarks.load       a real model, the second time
python -m tests.benchmarks.payload    what a figure weighs on its way to the browser
python -m tests.benchmarks.memory     two hundred different texts in one session

Machines differ, so every number that can stands as a ratio to a peer measured in the same run, turn by turn.
Close other programs first: the head of each table tells how busy the machine was.
"""
