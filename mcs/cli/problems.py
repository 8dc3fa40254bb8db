"""What the user did that cannot work."""


class UserMistakeError(Exception):
    """Printed as one line without a traceback; the message says what to do."""
