"""What the process has of its machine: open files, memory that is given back, and how to install what it lacks."""
