"""Logs on standard error: for people, or one JSON object a line. Neither shows the values of local variables."""

import logging
import sys
from typing import Any

import structlog


def set_up_logs(level: str, as_json: bool) -> None:
    """Log from `level` on; what libraries log comes in the same form, from warnings on."""
    renderers: list[Any]
    if as_json:
        renderers = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # structlog's own choice would print local variables with a traceback, and tokens with them.
        renderers = [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    logging.basicConfig(level=max(logging.WARNING, _number(level)), handlers=[handler], force=True)
    logging.captureWarnings(True)


def _number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]
