"""The `dotq` command: parses, calls one function of the driver, prints."""

from __future__ import annotations

from dotq.cli._root import main

__all__ = ["main"]
