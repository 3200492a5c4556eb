"""A folder of the job's own in which programs run, shut off from everything else."""
