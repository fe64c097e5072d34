"""`python -m trueground`."""

from trueground.cli import main

if __name__ == "__main__":
    main()
