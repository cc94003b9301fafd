"""`ablations list claims` and `ablations claims` as they are printed."""

from typing import Any

import pytest

from ablations.claims import KINDS, by_section, show_register, show_verdicts
from reports import register


def condition(**changed: Any) -> dict[str, Any]:
    common = {"symbol": "✓", "estimate": "0.2 (0.1 to 0.3)", "region": "at least 0.1", "n": "3 of 3 seeds"}
    return {"text": "Loss, nats", "reason": "", **common, **changed}


def verdict(name: str, *conditions: Any, **changed: Any) -> dict[str, Any]:
    common = {
        "id": name,
        "section": "Heads",
        "statement": f"Statement\n of {name}.",
        "symbol": "✓",
        "outcome": "supported",
        "provisional": False,
        "reason": "",
        "kind": "speed",
        "conditions": list(conditions) or [condition()],
    }
    return {**common, **changed}


def found(*verdicts: Any, **elsewhere: list[str]) -> dict[str, Any]:
    return {"study": "mine", "verdicts": list(verdicts), "tally": "2 supported", "elsewhere": elsewhere}


def shown(capsys: pytest.CaptureFixture[str], *verdicts: Any, **elsewhere: list[str]) -> list[str]:
    show_verdicts(found(*verdicts, **elsewhere))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_the_register_has_a_line_a_claim_and_one_for_all_that_must_be_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = [condition(text="Loss [nats]"), condition(text="BLEU", region="below 2")]
    entries: list[dict[str, Any]] = [
        {"id": "a", "section": "One", "kind": "exact", "statement": "First\n  of two.", "conditions": parts},
        {"id": "longer", "section": "Two", "kind": "structural", "statement": "[second]", "conditions": []},
        {"id": "c", "section": "One", "kind": "exact", "statement": "Third.", "conditions": parts[:1]},
    ]
    show_register(entries)
    shown = capsys.readouterr().out
    assert shown.startswith(
        "\nOne\n  a       exact       First of two.\n"
        "      - Loss [nats]: at least 0.1\n      - BLEU: below 2\n"
        "  c       exact       Third.\n      - Loss [nats]: at least 0.1\n"
        "\nTwo\n  longer  structural  [second]\n\n"
    )
    assert shown.endswith("\n3 claims\n")
    assert all(f"\n  {kind}: " in shown for kind in KINDS)


def test_the_kinds_are_those_of_the_register() -> None:
    assert tuple(KINDS) == register.KINDS


def test_a_verdict_has_its_statement_and_of_each_condition_what_was_found_and_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    second = condition(symbol="✗", text="[b]", estimate="0.4", region="below 0", n="2 of 3 seeds", reason="opposite")
    bad = verdict("a", condition(), second, symbol="✗", outcome="not supported", reason="[b]: opposite")
    lines = shown(capsys, bad, verdict("b", provisional=True, section="Mask"))
    assert lines[:10] == [
        "Heads",
        "",
        "✗ a not supported (speed)",
        "Statement of a.",
        "✓ Loss, nats",
        "found 0.2 (0.1 to 0.3), wanted at least 0.1; 3 of 3 seeds",
        "✗ [b]",
        "found 0.4, wanted below 0; 2 of 3 seeds",
        "why: opposite",
        "",
    ]
    assert lines[10:13] == ["Mask", "", "✓ b supported, provisional (speed)"]
    assert lines[-1] == "2 claims of the lecture put to the test by mine: 2 supported"


def test_a_reason_that_no_condition_has_is_that_of_the_claim(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, verdict("open", outcome="inconclusive", reason="2 of 3 seeds needed"))
    assert lines[4:6] == ["why: 2 of 3 seeds needed", "✓ Loss, nats"]


def test_of_what_is_not_run_only_the_reason_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, verdict("none", outcome="not run", reason="needs data: [multi30k]"))
    assert lines[2:6] == ["✓ none not run (speed)", "Statement of none.", "why: needs data: [multi30k]", ""]
    assert not any(line.startswith("found ") for line in lines)


def test_of_many_claims_those_that_do_not_hold_are_named_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    good = [verdict(f"good-{number}") for number in range(7)]
    bad = [verdict("bad", outcome="not supported"), verdict("worse", outcome="not supported")]
    assert shown(capsys, *good, *bad)[-2] == "not supported: bad, worse"
    assert "not supported: bad" not in shown(capsys, *good[:3], bad[0])


def test_without_reasons_none_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, verdict("a"))
    assert not any(line.startswith(("why: ", "Not tested")) for line in lines)


def test_claims_of_other_studies_are_named_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, verdict("a"), lecture=["b", "c"], agreement=["d"])
    start = lines.index("Not tested by this study")
    assert lines[start + 1 : start + 3] == ["ablations run lecture: b, c", "ablations run agreement: d"]


def test_a_study_of_no_claim_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys)[-1] == "mine puts no claim of the register to the test"


def test_a_terminal_folds_at_spaces_and_a_file_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = verdict("a", condition(text="The loss on the test set, nats per token"))
    assert "✓ The loss on the test set, nats per token" in shown(capsys, long)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show_verdicts(found(long))
    lines = capsys.readouterr().out.splitlines()
    assert lines[4:6] == ["    ✓ The loss on the test set, nats per", "      token"]
    assert max(map(len, lines)) <= 40


def test_sections_come_in_the_order_of_their_first_entry() -> None:
    entries = [{"section": name, "id": str(place)} for place, name in enumerate("baab")]
    assert [(name, [entry["id"] for entry in of]) for name, of in by_section(entries)] == [
        ("b", ["0", "3"]),
        ("a", ["1", "2"]),
    ]
