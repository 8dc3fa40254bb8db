"""What the user did that cannot work."""


class UserMistakeError(Exception):
    """The configuration or a cluster does not allow it: printed as one line that says what to do, exit status 1."""

    exit_status = 1


class WrongOptionError(UserMistakeError):
    """The command line cannot be meant: printed as one line that says what to do, exit status 2."""

    exit_status = 2
