"""Questions in SQL over the tables of a job's documents."""
