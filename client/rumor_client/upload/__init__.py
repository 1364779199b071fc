"""Reports and retractions on their way to the collector, and what is done with its answers.

Order of reading: `transport` (the seam: a request in, a response out), `http_transport` and
`connection` (the network), `encoding` (the bytes of a batch), `response` (verdicts), `backoff`
(when to try again), `collector_api` (one request, and what an answer means that settles nothing),
`result`, `uploader` (one pass over the outbox), `worker` (the thread that makes passes),
`retraction` (taking it back).
"""
