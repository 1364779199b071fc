"""The device: it perturbs each answer, keeps the ledger, and uploads the reports."""
