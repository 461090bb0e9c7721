"""The rules between fields that no schema can express, one module a part of the contract. Pure."""
