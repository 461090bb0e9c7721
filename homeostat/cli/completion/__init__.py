"""`homeostat completion`: prints the script with which a shell completes commands, options, kinds and names."""

from __future__ import annotations

import click

_VARIABLE = "_HOMEOSTAT_COMPLETE"
# PowerShell asks in the way of bash: the words in one variable, the place of the current one in another.
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName homeostat -ScriptBlock {
    param($word, $ast, $cursor)
    $words = @($ast.CommandElements | ForEach-Object { $_.ToString() })
    $env:COMP_CWORD = if ($word) { $words.Count - 1 } else { $words.Count }
    $env:COMP_WORDS = $words -join " "
    $env:_HOMEOSTAT_COMPLETE = "bash_complete"
    try {
        homeostat | ForEach-Object {
            $kind, $value = $_ -split ",", 2
            [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", $value)
        }
    } finally {
        Remove-Item Env:COMP_CWORD, Env:COMP_WORDS, Env:_HOMEOSTAT_COMPLETE
    }
}"""


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell"]))
def command(shell: str) -> None:
    """Print a script with which a shell completes commands, options, kinds, names and namespaces.

    Kinds, names and namespaces come from the server of the kubeconfig; nothing is completed if the request times out
    after a second.

    \b
    Examples:
      source <(homeostat completion bash)           # for this shell; add the line to ~/.bashrc for all
      source <(homeostat completion zsh)            # likewise, in ~/.zshrc after compinit
      homeostat completion powershell >> $PROFILE
      homeostat completion fish > ~/.config/fish/completions/homeostat.fish
    """
    if shell == "powershell":
        click.echo(_POWERSHELL)
        return
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "homeostat", _VARIABLE).source())
