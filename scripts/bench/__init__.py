"""How fast is vdqn-runner, beside whom, at what size, and where does the time go?

One command answers, on one thread of one processor core::

    pip install -e '.[bench]' && python -m scripts.bench --out results/bench

``work.py`` says what every contestant has to do, ``contestants.py`` who they are.
"""
