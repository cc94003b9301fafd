"""`ablations list claims` and `ablations claims` as they are printed."""

from typing import Any

import pytest

from ablations.claims import by_section, show_register, show_verdicts


def condition(**changed: Any) -> dict[str, Any]:
    common = {"symbol": "✓", "estimate": "0.2 (0.1 to 0.3)", "region": "at least 0.1", "n": "3 of 3 seeds"}
    return {**common, **changed}


def verdict(name: str, *conditions: Any, **changed: Any) -> dict[str, Any]:
    common = {
        "id": name,
        "section": "Heads",
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


def test_the_register_has_a_line_a_claim_under_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        {"id": "a", "section": "One", "kind": "exact", "statement": "First\n  of two."},
        {"id": "longer", "section": "Two", "kind": "structural", "statement": "[second]"},
        {"id": "c", "section": "One", "kind": "exact", "statement": "Third."},
    ]
    show_register(entries)
    assert capsys.readouterr().out == (
        "\nOne\n  a       exact       First of two.\n  c       exact       Third.\n"
        "\nTwo\n  longer  structural  [second]\n"
        "\n3 claims\n"
    )


def test_a_verdict_is_a_row_with_effect_region_seeds_and_kind(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, verdict("a"), verdict("b", provisional=True, section="Mask"))
    assert lines[:3] == [
        "Heads",
        "claim verdict effect (95 % interval) wanted n kind",
        "✓ a supported 0.2 (0.1 to 0.3) at least 0.1 3 of 3 seeds speed",
    ]
    assert "✓ b supported, provisional 0.2 (0.1 to 0.3) at least 0.1 3 of 3 seeds speed" in lines[lines.index("Mask") :]
    assert lines[-1] == "2 claims of the lecture put to the test by mine: 2 supported"


def test_of_several_conditions_each_has_a_row_and_a_symbol_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    second = condition(symbol="✗", estimate="0.4", region="[below] 0", n="2 of 3 seeds")
    lines = shown(capsys, verdict("a", condition(), second, symbol="✗", outcome="not supported", reason="b: opposite"))
    assert lines[2:4] == [
        "✗ a not supported ✓ 0.2 (0.1 to 0.3) at least 0.1 3 of 3 seeds speed",
        "✗ 0.4 [below] 0 2 of 3 seeds",
    ]
    assert lines[lines.index("Why") + 1] == "a: b: opposite"


def test_reasons_stand_apart_for_what_failed_what_is_open_and_what_is_not_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(
        capsys,
        verdict("good", reason="never said"),
        verdict("bad", outcome="not supported", reason="opposite"),
        verdict("open", outcome="inconclusive", reason="2 of 3 seeds needed"),
        verdict("none", outcome="not run", reason="needs data: [multi30k]"),
    )
    assert lines[lines.index("Why") : lines.index("Why") + 4] == [
        "Why",
        "bad: opposite",
        "open: 2 of 3 seeds needed",
        "",
    ]
    assert lines[lines.index("Not run") + 1] == "none: needs data: [multi30k]"
    assert not any("never said" in line for line in lines)


def test_without_reasons_there_are_no_headings(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, verdict("a"))
    assert not {"Why", "Not run", "Not tested by this study"} & set(lines)


def test_claims_of_other_studies_are_named_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, verdict("a"), lecture=["b", "c"], agreement=["d"])
    start = lines.index("Not tested by this study")
    assert lines[start + 1 : start + 3] == ["ablations run lecture: b, c", "ablations run agreement: d"]


def test_a_study_of_no_claim_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys)[-1] == "mine puts no claim of the register to the test"


def test_what_goes_into_a_file_is_not_folded_to_a_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = shown(capsys, verdict("a-rather-long-name", condition(region="between −0.05 and 0.05")))
    assert lines[2].endswith("between −0.05 and 0.05 3 of 3 seeds speed")


def test_sections_come_in_the_order_of_their_first_entry() -> None:
    entries = [{"section": name, "id": str(place)} for place, name in enumerate("baab")]
    assert [(name, [entry["id"] for entry in of]) for name, of in by_section(entries)] == [
        ("b", ["0", "3"]),
        ("a", ["1", "2"]),
    ]
