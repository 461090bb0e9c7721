"""What the process has of its machine: open files, and memory that is given back."""
