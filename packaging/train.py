"""What profile-guided optimisation learns from: every scheme in every setting of `wifair compare --all`, once, in quick form.

Maturin runs it with an instrumented engine (`pgo-command` in `pyproject.toml`). Its results are thrown away.
"""

from wifair.everything.contest import Contest

if __name__ == "__main__":
    Contest.of("quick", seeds=1).run()
