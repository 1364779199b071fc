"""HTTP: what a request may do, what becomes of it, and how an answer is sent.

A request meets `connections` and `slots` (which bound how many and how long), `security_headers`,
`ip_rate_limit`, then `authentication` and `quota` (who it is from, and how much is left), then
`head` and one of `routes` or the `dashboard`. `device_route` with `body` takes what devices send;
`parameters` and `candidates` read what analysts ask, `query_limits` how much of it at once;
`responses` sends rows, entity tags and parts. `problem` and `error_responses` turn every error into
one shape.

What describes it: `openapi`, `openapi_examples`, `docs_page`. What counts it: `counters`,
`prometheus`.
"""
