"""How the command begins: until Python has imported it, Ctrl-C ends it without a traceback."""

import signal


def main() -> None:
    """Run `dris`."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dris.cli import main as run

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    run()
