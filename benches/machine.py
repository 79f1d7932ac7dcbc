"""Describes the machine that a benchmark ran on, in one sentence, so that a table of times means something."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def command(*words: str) -> str:
    """The first line that a command prints, or nothing where there is no such command."""
    try:
        output = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
    return output.strip().split("\n")[0]


def field(path: str, key: str) -> str:
    """The first value of `key` in a file of `key : value` or `key=value` lines."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    for line in lines:
        name, _, value = line.replace("=", ":", 1).partition(":")
        if name.strip() == key:
            return value.strip().strip('"')
    return ""


def describe(ns2: bool) -> str:
    """Processor, memory, system and versions, with the day of the measurement."""
    processor = field("/proc/cpuinfo", "model name") or platform.processor()
    virtual = " (virtual machine)" if "hypervisor" in field("/proc/cpuinfo", "flags").split() else ""
    memory = int((field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) / 2**20
    parts = [
        f"{os.cpu_count()} cores of {processor}{virtual}",
        f"{memory:.0f} GiB of memory",
        f"{field('/etc/os-release', 'PRETTY_NAME')}, Linux {platform.release().split('-')[0]}",
        " ".join(command("rustc", "--version").split()[:2]),
    ]
    if ns2:
        version = command("dpkg-query", "-W", "-f=${Version}", "ns2")
        parts.append(f"ns-2 {version or '(version unknown)'}")
    day = datetime.now(UTC).strftime("%d %B %Y")
    revision = command("git", "rev-parse", "--short", "HEAD")
    return f"Measured on {day} on {', '.join(parts)}; revision {revision}."
