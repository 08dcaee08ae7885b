"""Real hosts on the simulated air: `wifair emulate` and `wifair exec`. Linux only.

`session` starts a run and waits for it, in the user's process; `engine` is process 1 of the PID namespace, where the simulator runs
in real time; `runs` finds what is running; `traffic` is the generator of `--test`.
"""
