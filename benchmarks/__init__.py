"""What measures speed and cost. `./run bench` lists the benchmarks, `./run bench NAME` runs one.

Each is a module with `TITLE` and `run() -> list[Table]`. A comparison runs both of its sides in the same run, on the
same work, and gives their ratio. Results are printed and written to `benchmarks/results/NAME.json`.
"""
