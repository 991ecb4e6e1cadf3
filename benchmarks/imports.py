"""What a user waits for before anything happens: `import dris` and `dris --help`."""

import subprocess
import sys

from measure import finish, report, side_by_side


def run(code: str) -> None:
    """One fresh interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def main() -> None:
    """Above a bare interpreter, which costs the same for everyone."""
    bare, names, help_page = side_by_side(
        lambda: run("pass"),
        lambda: run("import dris; dris.rank_variance; dris.keep_top; dris.Dynamics"),
        lambda: run(
            "import sys, dris.cli; sys.argv = ['dris', '--help']\n"
            "try: dris.cli.main()\nexcept SystemExit: pass"
        ),
        rounds=7,
    )
    report("import dris and its core names", names - bare, " s", 0.3, at_least=False)
    report("dris --help", help_page - bare, " s", 1.0, at_least=False)
    finish()


if __name__ == "__main__":
    main()
