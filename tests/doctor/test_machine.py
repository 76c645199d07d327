"""What the machine has."""

from __future__ import annotations

from pathlib import Path

from rarespec.doctor.machine import machine_facts, memory_in_words


def test_memory(tmp_path: Path) -> None:
    memory, limit = tmp_path / "meminfo", tmp_path / "memory.max"
    memory.write_text("MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\nHugePages_Total: 0\n")
    assert memory_in_words(memory, ()) == "16.4 GB, 8.2 GB available"
    limit.write_text("max\n")
    assert "allowed" not in memory_in_words(memory, (limit,))
    limit.write_text("4000000000\n")
    assert memory_in_words(memory, (tmp_path / "none", limit)).endswith("4.0 GB allowed for this process")
    limit.write_text("9223372036854771712\n")
    assert "allowed" not in memory_in_words(memory, (limit,)), "a limit above all memory is none"


def test_where_the_system_does_not_tell(tmp_path: Path) -> None:
    assert "GB" in memory_in_words(tmp_path / "none", ()) or memory_in_words(tmp_path / "none", ()) == "unknown"


def test_facts_are_one_line_each() -> None:
    facts = machine_facts()
    assert list(facts) == ["python", "system", "cores", "memory", "linear algebra"]
    assert all(value and "\n" not in value for value in facts.values())
