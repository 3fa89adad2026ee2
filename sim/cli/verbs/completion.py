"""`ddlsim completion`: the script by which a shell completes the words of ddlsim."""

from click.shell_completion import get_completion_class

from ddlsim.cli import streams
from ddlsim.cli.arguments import COMMAND, COMPLETE
from ddlsim.cli.options import Options


def execute(options: Options) -> int:
    """Print the script; the shell evaluates it once, and asks `ddlsim` at each completion."""
    shell = get_completion_class(options.shell)
    assert shell is not None, options.shell
    streams.write(shell(COMMAND, {}, "ddlsim", COMPLETE).source())
    return 0
