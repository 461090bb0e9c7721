"""`homeostat contract generate`: files from a contract, by a plugin."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from homeostat.cli.contract.generation import schema_infer
from homeostat.cli.contract.generation.plugin import PREFIX, find_plugin, plugin_directory, run_plugin
from homeostat.cli.contract.session.files import write_files
from homeostat.cli.contract.session.loaded import Loaded
from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import ContractFailure, failures, print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import Settings, current_settings
from homeostat.operators.contracts.engine.plugin import PluginAnswer, plugin_request
from homeostat.operators.contracts.engine.validate import Overrides


@click.command(short_help="Generate files from a contract with a plugin.")
@click.argument("plugin", metavar="PLUGIN")
@click.argument("ref", metavar="[BUNDLE]", default=".")
@click.option("-o", "--output", metavar="DIRECTORY", help="The directory to write to.  [default: PLUGIN-output]")
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE", help="An option of the plugin; may be repeated."
)
@override_options()
def command(
    plugin: str,
    ref: str,
    output: str | None,
    options: tuple[str, ...],
    values: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Run the program pacto-plugin-PLUGIN with the contract on standard input, and write the files that it returns.

    The program is searched on PATH, then in ~/.config/pacto/plugins. It has 60 s, and may return 64 MiB. A path that
    leaves the output directory is refused before anything is written. The plugin schema-infer is built in: it infers
    a JSON Schema from a sample of configuration values.

    \b
    Examples:
      homeostat contract generate helm billing --option replicas=2
      homeostat contract generate schema-infer billing --option file=settings.yaml -o billing/configuration
    """
    chosen = current_settings()
    target = output or f"{plugin}-output"
    given = dict(map(_option, options))
    with failures():
        overrides = read_overrides(values, settings)
        answer = run(_generate(chosen, plugin, ref, target, given, overrides))
        write_files(Path(target), {each.path: each.content.encode() for each in answer.files})
    fields = {"plugin": plugin, "outputDir": target, "filesCount": len(answer.files), "message": answer.message}
    print_result(chosen, lambda: fields, lambda: _text(plugin, target, answer))


def _text(plugin: str, target: str, answer: PluginAnswer) -> str:
    lines = [f"Generated {len(answer.files)} file(s) using {plugin}", f"Output: {target.rstrip('/')}/"]
    return "\n".join([*lines, f"Message: {answer.message}"] if answer.message else lines)


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--option takes KEY=VALUE, got {text!r}")
    return key, value


async def _generate(
    chosen: Settings, plugin: str, ref: str, target: str, options: Mapping[str, str], overrides: Overrides
) -> PluginAnswer:
    path = find_plugin(plugin, os.environ)
    if path is None and plugin != schema_infer.NAME:
        raise ContractFailure(
            f'there is no plugin "{plugin}"; install a program {PREFIX}{plugin} on PATH or in '
            f"{plugin_directory(os.environ)}"
        )
    async with Session(chosen) as session:
        loaded = await session.load(ref, overrides)
    if loaded.root is not None:
        return await _answer(path, loaded, loaded.root, target, options)
    with tempfile.TemporaryDirectory(prefix="homeostat-contract-") as directory:
        await asyncio.to_thread(write_files, Path(directory), loaded.files)
        return await _answer(path, loaded, directory, target, options)


async def _answer(
    path: Path | None, loaded: Loaded, bundle_dir: str, target: str, options: Mapping[str, str]
) -> PluginAnswer:
    if path is None:
        return await asyncio.to_thread(schema_infer.generate, options, bundle_dir)
    request = plugin_request(loaded.parsed.contract, bundle_dir=bundle_dir, output_dir=target, options=options)
    return await run_plugin(path, request, os.environ)
