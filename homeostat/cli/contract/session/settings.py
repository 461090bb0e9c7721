"""Global options: before or after the command, else from the environment, else from a configuration file.

| option | variable | key |
|---|---|---|
| `--output-format` | `PACTO_OUTPUT_FORMAT` | `output-format` |
| `--verbose` | `PACTO_VERBOSE` | `verbose` |
| `--no-cache` | `PACTO_NO_CACHE` | `no-cache` |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import click
import msgspec

from homeostat.cli.console.failure import Failure, one_line

F = TypeVar("F", bound=Callable[..., Any])
Format = Literal["text", "json", "markdown"]
_FORMATS: Final[tuple[Format, ...]] = ("text", "json", "markdown")
_KEY: Final = "homeostat.contract"
_TRUE: Final = frozenset({"1", "t", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "f", "false", "no", "off"})
_LARGEST: Final = 1 << 20


BUNDLE: Final = click.Path(readable=False)
"""A directory or a reference to a registry; shells complete directories."""


class Settings(msgspec.Struct, frozen=True):
    output: Format = "text"
    is_verbose: bool = False
    reads_cache: bool = True
    keys: tuple[tuple[str, bytes], ...] = ()
    """Names and contents of the files of `--verify-key`."""

    def debug(self, text: str) -> None:
        if self.is_verbose:
            click.echo(f"debug: {one_line(text)}", err=True)


def current_settings() -> Settings:
    """Those of the running command."""
    given = dict(click.get_current_context().meta.get(_KEY, {}))
    read = {
        **_from_file(given.pop("config", "") or os.environ.get("PACTO_CONFIG", "")),
        **_from_environment(os.environ),
    }
    merged = {**read, **given}
    wanted = str(merged.get("output-format", "text"))
    if wanted not in _FORMATS:
        raise Failure(f'there is no output format "{wanted}"; expected one of {", ".join(_FORMATS)}')
    return Settings(
        output=next(each for each in _FORMATS if each == wanted),
        is_verbose=_is_true(merged.get("verbose", False)),
        reads_cache=not _is_true(merged.get("no-cache", False)),
        keys=tuple((each, _read_key(each)) for each in given.get("verify-key", ())),
    )


def global_options(*, has_short_output: bool = True) -> list[click.Parameter]:
    """Where `-o` is a path, `--output-format` has no short form."""
    format_names = ["--output-format", *(["-o"] if has_short_output else [])]
    return [
        _option(format_names, type=click.Choice(_FORMATS), help="How to print.  [default: text]"),
        _option(["-v", "--verbose"], is_flag=True, help="Print what is read from where, on standard error."),
        _option(["--no-cache"], is_flag=True, help="Fetch bundles again instead of reading them from the cache."),
        _option(["--no-anim"], is_flag=True, help="Show no animation; there is none."),
        _option(["--config"], metavar="FILE", help="A YAML file with defaults of these options."),
    ]


def verify_option(command: F) -> F:
    """`--verify-key`, of commands that read bundles of registries."""
    return click.option(
        "--verify-key",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        callback=_store,
        help="Use bundles of registries only if cosign signed them with the private key of this public key; may be "
        "repeated. This includes dependencies and policies.",
    )(command)


def add_global_options(command: click.Command) -> click.Command:
    known = {name for each in command.params for name in each.opts}
    if "--output-format" not in known:
        command.params += global_options(has_short_output="-o" not in known)
    return command


def without_values(command: click.Command, arguments: list[str]) -> list[str]:
    """The arguments with `--force` for `--force=true`, and without `--force=false`: the original takes both forms."""
    flags = {name for each in command.params if isinstance(each, click.Option) and each.is_flag for name in each.opts}
    plain = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or name not in flags or value.lower() not in _TRUE | _FALSE:
            plain.append(argument)
        elif value.lower() in _TRUE:
            plain.append(name)
    return plain


def _option(names: list[str], **more: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_store, **more)


def _store(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value:
        name = max(parameter.opts, key=len).removeprefix("--")
        context.meta.setdefault(_KEY, {})[name] = value


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    names = {key: f"PACTO_{key.replace('-', '_').upper()}" for key in ("output-format", "verbose", "no-cache")}
    return {key: environ[name] for key, name in names.items() if environ.get(name)}


def _from_file(path: str) -> dict[str, Any]:
    """The user's own file is optional, one that is named is not. `pacto.yaml` here is a contract, and not read."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    file = Path(path or os.path.join(home, "pacto", "pacto.yaml"))
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST)
    except OSError as error:
        if path:
            raise Failure(f'cannot read the configuration "{path}": {error.strerror}') from error
        return {}
    from homeostat.operators.contracts.engine.document.reader import YamlError, read_value

    try:
        value = read_value(data)
    except YamlError as error:
        raise Failure(f'the configuration "{file}" is not YAML: {error}') from error
    return value if isinstance(value, dict) else {}


def _read_key(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST)
    except OSError as error:
        raise Failure(f'cannot read the key "{path}": {error.strerror}') from error


def _is_true(value: object) -> bool:
    return value is True or str(value).lower() in _TRUE
