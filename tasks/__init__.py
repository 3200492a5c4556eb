"""The steps of a job and what they stand on: journal, blobs, protocols, budgets, settings."""
