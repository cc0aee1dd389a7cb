"""Mean shift: rows that climb to the modes of their density."""
