"""The one service that answers a question about a metric; API, pages, `rumor query` and the Python
reader are faces of it.

Read in this order:

1. `question`: what is asked: which revisions, which days, how sure; and what can be said at all.
2. `service`: the rules, each once, from a question to its answer.
3. `open_days`: what of a day that still takes reports is shown, in steps.
4. `cache`: answers remembered under the hash of their tallies; `workers` and `worker_main`: the
   processes in which what takes long is answered.
5. `rows`: an answer as rows, as the one CSV and as the one JSON page.
6. `trend`, `comparison`, `reports_needed`: the same answer over time, against another period, and
   how many more reports would settle it.
7. `ranks`: which values are confirmed above which; `headline`: the result in one sentence;
   `watch`: bounds that hold on all days.
8. `precision`: from how many reports on anything can be said, and whose shares they are.
9. `authenticity`, `activity`, `privacy`: what is told beside it.
10. `candidate_lists`: texts to look for, kept by their SHA-256.
"""
