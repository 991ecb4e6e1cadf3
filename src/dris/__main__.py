"""`python -m dris` is the command `dris`."""

from dris._start import main

if __name__ == "__main__":
    main()
