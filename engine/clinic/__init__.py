"""The Clinic: what goes wrong in Transformers without a word, each case run live, broken beside mended.

case      what a case is: its words, its two listings, what it measures
symptoms  by which it is found
cases     all of them, one a file
rules     the same knowledge held against the metrics of a run: what may be wrong with it
practice  what several of them train
bench     a case in a process of its own

    from engine.clinic.cases import case_named
    case = case_named("mask_times_infinity")
    evidence = case.measure(case.settings())
    evidence.measures
"""
