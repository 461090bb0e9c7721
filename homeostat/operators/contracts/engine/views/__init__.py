"""What people and programs are shown of a contract: its explanation, its document, its status. Pure."""
