"""The grammar against a rule-based translator, hand-made sentences, and a hunt for cues that should not be there."""

import math
import time
from collections import Counter
from itertools import islice

import pytest
import sacrebleu

from datamodules.german_grammar import Sentence, sentences, vocabulary
from datamodules.splits import SPLITS, Split, split_of_text
from tests.datamodules.english_to_german import LEXICON, translate

HAND_MADE = [
    (
        "the child that the cats called in the garden after the storm slept .",
        "das kind , das die katzen nach dem sturm im garten riefen , schlief .",
    ),
    (
        "the old dogs that saw the bird near the houses laughed .",
        "die alten hunde , die den vogel bei den häusern sahen , lachten .",
    ),
    ("the bird that the tired woman heard sang .", "der vogel , den die müde frau hörte , sang ."),
    (
        "the man said that the small horse found the young dog with the children .",
        "der mann sagte , dass das kleine pferd den jungen hund mit den kindern fand .",
    ),
    (
        "the women stopped the old duck before the lesson .",
        "die frauen hielten die alte ente vor der stunde an .",
    ),
    (
        "the girl near the forest , while the dogs saw the cat in the street after the party , ran .",
        "das mädchen beim wald , während die hunde die katze nach dem fest in der straße sahen , lief .",
    ),
]


def _some(split: Split, number: int, *, nested: bool = False, seed: int = 0) -> list[Sentence]:
    return list(islice(sentences(split, seed, nested=nested), number))


def _subject_place(sentence: Sentence) -> int:
    """Where the subject noun stands in the German sentence: the last noun before, unless a clause comes between."""
    words = sentence.german.split(" ")
    start = words.index("dass") + 1 if sentence.pattern == "dass" else 0
    forms = {noun.form for noun in LEXICON.values()}
    return next(place for place in range(start, len(words)) if words[place] in forms)


@pytest.mark.parametrize(("english", "german"), HAND_MADE)
def test_the_translator_of_these_tests_agrees_with_hand_made_sentences(english: str, german: str) -> None:
    assert translate(english) == german


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("split", SPLITS)
def test_rules_translate_every_sentence(split: Split, nested: bool) -> None:
    made = _some(split, 1500, nested=nested)
    found = [translate(sentence.english) for sentence in made]
    assert found == [sentence.german for sentence in made]
    assert sacrebleu.BLEU(force=True).corpus_score(found, [[item.german for item in made]]).score == pytest.approx(100)
    assert all(sentence.wrong not in {sentence.german, *found} for sentence in made)


@pytest.mark.parametrize("nested", [False, True])
def test_wrong_differs_in_the_verb_only_and_the_distance_is_exact(nested: bool) -> None:
    for sentence in _some("test", 1500, nested=nested):
        right, wrong = sentence.german.split(" "), sentence.wrong.split(" ")
        assert len(right) == len(wrong)
        differing = [place for place in range(len(right)) if right[place] != wrong[place]]
        assert differing == [_subject_place(sentence) + sentence.distance]


def _with_other_number(sentence: Sentence) -> str:
    """The English sentence with its subject noun in the other number."""
    other: dict[str, str] = {}
    for one, many in zip(list(LEXICON)[::2], list(LEXICON)[1::2], strict=True):
        other |= {one: many, many: one}
    words = sentence.english.split(" ")
    start = words.index("that") + 1 if sentence.pattern == "dass" else 0
    place = next(place for place in range(start, len(words)) if words[place] in LEXICON)
    words[place] = other[words[place]]
    return " ".join(words)


@pytest.mark.parametrize("nested", [False, True])
def test_the_subject_noun_alone_decides_the_verb(nested: bool) -> None:
    for sentence in _some("test", 500, nested=nested):
        place = _subject_place(sentence) + sentence.distance
        swapped = translate(_with_other_number(sentence)).split(" ")
        assert swapped[place] == sentence.wrong.split(" ")[place]


def _plural(sentence: Sentence) -> bool:
    words = sentence.german.split(" ")
    place = _subject_place(sentence)
    article = words[place - 1] if words[place - 1] in ("der", "die", "das") else words[place - 2]
    return article == "die" and words[place] not in ("katze", "frau", "ente")


def test_the_other_words_say_nothing_of_the_number() -> None:
    """Naive Bayes over all English words but the subject noun is no better than a coin."""

    def features(sentence: Sentence) -> list[str]:
        mine, swapped = sentence.english.split(" "), _with_other_number(sentence).split(" ")
        return [word for word, other in zip(mine, swapped, strict=True) if word == other]

    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for sentence in _some("train", 6000):
        counts[_plural(sentence)].update(features(sentence))
    tested = _some("test", 2000)
    right = 0
    for sentence in tested:
        odds = sum(math.log((counts[True][word] + 1) / (counts[False][word] + 1)) for word in features(sentence))
        right += (odds > 0) == _plural(sentence)
    assert right / len(tested) == pytest.approx(0.5, abs=0.04)


def test_the_mixture_is_the_one_asked_for() -> None:
    made = _some("train", 20_000)
    patterns = Counter(sentence.pattern for sentence in made)
    assert patterns["relative"] / 20_000 == pytest.approx(0.6, abs=0.02)
    assert patterns["dass"] / 20_000 == pytest.approx(0.2, abs=0.02)
    assert patterns["separable"] / 20_000 == pytest.approx(0.2, abs=0.02)
    assert len({sentence.english for sentence in made}) / 20_000 > 0.98
    assert 12 < sum(len(sentence.english.split(" ")) for sentence in made) / 20_000 < 13
    assert {sentence.distance for sentence in made} == {1, *range(3, 18)}
    assert {sentence.distance for sentence in made if sentence.pattern == "separable"} == {1}
    assert sum(map(_plural, made)) / 20_000 == pytest.approx(0.5, abs=0.02)


def test_the_nested_form_is_long() -> None:
    made = _some("train", 5000, nested=True)
    assert {sentence.pattern for sentence in made} == {"nested"}
    assert 25 < sum(len(sentence.german.split(" ")) for sentence in made) / 5000 < 29
    assert {sentence.distance for sentence in made} == set(range(3, 51))


def test_distances_of_a_few_sentences_counted_by_hand() -> None:
    by_hand = {
        "der hund lud das kind ein .": 1,
        "das kind lud das pferd ein .": 1,
        "die katze , die das kind sah , schlief .": 7,
        "die alten vögel , die die kleinen mädchen nach den festen mit den männern in den wäldern hörten , warteten"
        " .": 17,
        "die hunde sagten , dass die frauen die katze mit den pferden besuchten .": 6,
    }
    found = {sentence.german: sentence.distance for sentence in _some("train", 20_000)}
    shared = by_hand.keys() & found.keys()
    assert len(shared) >= 3
    assert {german: found[german] for german in shared} == {german: by_hand[german] for german in shared}


def test_a_longer_list_begins_like_a_shorter_one() -> None:
    assert _some("test", 40) == _some("test", 90)[:40]


def test_seeds_give_different_sentences_and_splits_share_none() -> None:
    seen: dict[str, str] = {}
    for seed in range(5):
        for split in SPLITS:
            made = _some(split, 400, seed=seed)
            assert all(split_of_text(sentence.english) == split for sentence in made)
            assert all(seen.setdefault(sentence.english, split) == split for sentence in made)
    assert _some("train", 20, seed=0) != _some("train", 20, seed=1)


@pytest.mark.parametrize("nested", [False, True])
def test_the_vocabulary_holds_every_word(nested: bool) -> None:
    english, german = vocabulary()
    made = _some("train", 5000, nested=nested)
    used = {word for sentence in made for word in sentence.english.split(" ")}
    assert used <= set(english)
    assert {word for item in made for text in (item.german, item.wrong) for word in text.split(" ")} <= set(german)
    assert (len(english), len(german)) == (62, 94)


def test_every_word_of_the_vocabulary_is_used() -> None:
    made = _some("train", 5000) + _some("train", 5000, nested=True)
    english, german = vocabulary()
    assert {word for sentence in made for word in sentence.english.split(" ")} == set(english)
    assert {word for sentence in made for word in sentence.german.split(" ")} == set(german)


def test_twenty_thousand_sentences_are_quick() -> None:
    start = time.process_time()
    _some("train", 20_000)
    assert time.process_time() - start < 2  # 0.3 s on an idle core
