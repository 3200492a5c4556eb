"""Deployment files shipped with the package."""
