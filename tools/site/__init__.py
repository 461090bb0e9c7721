"""The documentation as a site: the pages of docs/ with those that are made from the code."""
