"""What people know about their data: statements, what follows from them, where they clash."""
