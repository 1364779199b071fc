"""One call of `record`, from the question to the stored report.

Order of reading: `result` (what is answered), `ledger` (which accounts pay, under which caps),
`outbox` (how much may wait), `recorder` (all of it in one transaction).
"""
