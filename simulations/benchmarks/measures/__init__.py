"""One module a subject, each with `measure() -> list[Row]`; the benchmarks find them by themselves.

The device: `imports`, `perturbation`, `recording`. The collector: `ingestion`, `ingestion_http`,
`ingestion_memory`, `ingestion_postgres`, `estimation`, `decoding`. Both: `instructions`. The
simulations: `simulation`.
"""
