"""Options that select objects, each with one meaning everywhere."""

from __future__ import annotations

import click

all_namespaces_option = click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces.")
selector_option = click.option("-l", "--selector", default="", help="Labels that objects must have: app=web,tier!=db")
