"""What is known of a text before a model reads it: its target, and where the answers stand."""

from __future__ import annotations

from engine.training.probes import held_out_probes, probe_for, probe_of
from engine.training.tasks import task_named
from engine.training.tasks.induction import Induction


def test_what_a_task_knows_of_a_text():
    task = task_named("reverse")
    probe = probe_for(task, "abcd", {})
    assert (probe.text, probe.target) == ("abcd", "dcba")
    assert probe.places == {0: {3}, 1: {2}, 2: {1}, 3: {0}}
    assert probe.sites == "decoder.layers.*.cross_attention"
    for stranger in ("ab", "xyz!", "abcd" * 4):  # too short, unknown letters, too long
        assert probe_for(task, stranger, {}).target is None
    dates = task_named("dates")
    known = held_out_probes(dates, 3)
    assert len(known) == 3
    assert all(probe_for(dates, text, known) is probe for text, probe in known.items())


def test_each_kind_of_task_is_read_as_its_model_reads_it():
    induction = Induction(shortest=4, longest=4, length=8)
    probe = probe_of(induction, induction.repeated("abcd"))
    assert (probe.text, probe.target) == ("abcdabcd", None)
    assert probe.places == {4: {1}, 5: {2}, 6: {3}}  # the second a expects b, which stands at 1
    addition = task_named("addition")
    example = addition.suites(1)["held_out"][0]
    assert probe_of(addition, example).text == example.text + example.target
    recall = probe_for(task_named("recall", shortest=4, longest=9), "abcdef", {})
    assert recall.places == {2: {0}, 3: {1}, 4: {2}, 5: {3}}
    assert not recall.goes_on
