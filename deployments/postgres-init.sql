-- Run once, on an empty volume: Prefect keeps its own database beside Deskwork's journal.
CREATE DATABASE prefect;
