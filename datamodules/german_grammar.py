"""A small grammar that makes English sentences together with their German translations.

The English verbs stand in the past tense, which does not show number; the German ones do, and the one whose number is
in question stands well after its subject. So its form must come from the subject noun: the only word of the English
sentence that shows its number.

German as written here: weak adjective endings (every noun phrase is definite), accusative and dative articles,
relative pronouns by gender and case, the verb last in subordinate clauses, separable verbs, adverbials in the order
time, company, place (English: place, company, time), `im` and `beim` for `in dem` and `bei dem`. All in lower case.
"""

from collections.abc import Iterator
from itertools import count
from typing import Literal, NamedTuple, TypeVar

from datamodules.splits import Split, generator, split_of_text

Case = Literal["nominative", "accusative", "dative"]
Pattern = Literal["relative", "dass", "separable", "nested"]
Item = TypeVar("Item")

BLOCK = 1024  # sentences that share one generator
CHOICES = 96  # random numbers for one sentence; the nested form uses up to about 80


class Noun(NamedTuple):
    """A noun whose three singular cases are alike, as are its nominative and accusative plural."""

    gender: Literal["m", "f", "n"]
    english: str
    english_plural: str
    german: str
    german_plural: str
    dative_plural: str


class Verb(NamedTuple):
    """A verb in the past tense, third person; `particle` is what a separable one leaves at the end of the clause."""

    english: str
    singular: str
    plural: str
    particle: str = ""


class Adjective(NamedTuple):
    english: str
    stem: str


class Phrase(NamedTuple):
    """A definite noun phrase."""

    noun: Noun
    plural: bool
    adjective: Adjective | None = None


class Adverbial(NamedTuple):
    """A preposition with a noun phrase, which stands in the dative."""

    preposition: tuple[str, str]
    phrase: Phrase


class Sentence(NamedTuple):
    """A sentence pair and its contrast."""

    english: str
    german: str
    wrong: str
    """The German sentence with its verb in the other number."""
    distance: int
    """How many words the verb stands after its subject noun (1: next to it); a comma counts as a word."""
    pattern: Pattern


ANIMATE = (
    Noun("m", "dog", "dogs", "hund", "hunde", "hunden"),
    Noun("m", "man", "men", "mann", "männer", "männern"),
    Noun("m", "bird", "birds", "vogel", "vögel", "vögeln"),
    Noun("f", "cat", "cats", "katze", "katzen", "katzen"),
    Noun("f", "woman", "women", "frau", "frauen", "frauen"),
    Noun("f", "duck", "ducks", "ente", "enten", "enten"),
    Noun("n", "child", "children", "kind", "kinder", "kindern"),
    Noun("n", "girl", "girls", "mädchen", "mädchen", "mädchen"),
    Noun("n", "horse", "horses", "pferd", "pferde", "pferden"),
)
PLACES = (
    Noun("m", "garden", "gardens", "garten", "gärten", "gärten"),
    Noun("m", "forest", "forests", "wald", "wälder", "wäldern"),
    Noun("f", "street", "streets", "straße", "straßen", "straßen"),
    Noun("n", "house", "houses", "haus", "häuser", "häusern"),
)
EVENTS = (
    Noun("m", "storm", "storms", "sturm", "stürme", "stürmen"),
    Noun("f", "lesson", "lessons", "stunde", "stunden", "stunden"),
    Noun("n", "party", "parties", "fest", "feste", "festen"),
)
ADJECTIVES = (
    Adjective("old", "alt"),
    Adjective("young", "jung"),
    Adjective("small", "klein"),
    Adjective("tired", "müd"),
)
INTRANSITIVE = (
    Verb("slept", "schlief", "schliefen"),
    Verb("laughed", "lachte", "lachten"),
    Verb("ran", "lief", "liefen"),
    Verb("waited", "wartete", "warteten"),
    Verb("sang", "sang", "sangen"),
)
TRANSITIVE = (
    Verb("called", "rief", "riefen"),
    Verb("saw", "sah", "sahen"),
    Verb("heard", "hörte", "hörten"),
    Verb("found", "fand", "fanden"),
    Verb("visited", "besuchte", "besuchten"),
)
SEPARABLE = (
    Verb("woke", "weckte", "weckten", "auf"),
    Verb("invited", "lud", "luden", "ein"),
    Verb("stopped", "hielt", "hielten", "an"),
)
REPORTING = (
    Verb("said", "sagte", "sagten"),
    Verb("believed", "glaubte", "glaubten"),
)
PLACE_PREPOSITIONS = (("in", "in"), ("behind", "hinter"), ("near", "bei"))
COMPANY_PREPOSITIONS = (("with", "mit"),)
TIME_PREPOSITIONS = (("after", "nach"), ("before", "vor"))

ARTICLES: dict[Case, dict[str, str]] = {
    "nominative": {"m": "der", "f": "die", "n": "das", "plural": "die"},
    "accusative": {"m": "den", "f": "die", "n": "das", "plural": "die"},
    "dative": {"m": "dem", "f": "der", "n": "dem", "plural": "den"},
}
CONTRACTIONS = {("in", "dem"): "im", ("bei", "dem"): "beim"}
BARE_ENDINGS = {("nominative", "m"), ("nominative", "f"), ("nominative", "n"), ("accusative", "f"), ("accusative", "n")}

PATTERNS: tuple[Pattern, ...] = ("relative",) * 3 + ("dass", "separable")  # 60, 20 and 20 %
NUMBERS_OF_ADVERBIALS = (0, 0, 1, 1, 1, 2, 2, 3)
ADJECTIVE_OR_NONE = (*ADJECTIVES, None, None, None, None, None, None, None, None)  # 1 in 3


class Draws:
    """A run of random numbers, used up one choice at a time."""

    def __init__(self, numbers: list[int]) -> None:
        self._next = iter(numbers).__next__

    def pick(self, options: tuple[Item, ...]) -> Item:
        """One of the options."""
        return options[self._next() % len(options)]

    def take(self, options: list[Item]) -> Item:
        """One of the options, which is no option from then on."""
        return options.pop(self._next() % len(options))


def sentences(split: Split, seed: int, *, nested: bool) -> Iterator[Sentence]:
    """The sentences of a split, without end and with repeats (about 1 in 100): a pure function of split and seed.

    Args:
        split: only sentences whose English side the hash puts there.
        seed: of the random choices.
        nested: the long form: chains of prepositional phrases and while-clauses between subject and verb.
    """
    for block in count():
        choices = generator(split, seed, block).integers(2**32, size=(BLOCK, CHOICES)).tolist()
        for numbers in choices:
            draws = Draws(numbers)
            made = MAKERS["nested" if nested else draws.pick(PATTERNS)](draws)
            if split_of_text(made.english) == split:
                yield made


def vocabulary() -> tuple[list[str], list[str]]:
    """All English and all German words of both forms, sorted."""
    english = {"the", "that", "while", ",", "."}
    german = {"während", "dass", ",", "."} | {word for case in ARTICLES.values() for word in case.values()}
    for noun in ANIMATE + PLACES + EVENTS:
        english |= {noun.english, noun.english_plural}
        german |= {noun.german, noun.dative_plural}
    german |= {noun.german_plural for noun in ANIMATE}  # the others stand in the dative only
    for verb in INTRANSITIVE + TRANSITIVE + SEPARABLE + REPORTING:
        english.add(verb.english)
        german |= {verb.singular, verb.plural, verb.particle}
    for adjective in ADJECTIVES:
        english.add(adjective.english)
        german |= {adjective.stem + "e", adjective.stem + "en"}
    for preposition in PLACE_PREPOSITIONS + COMPANY_PREPOSITIONS + TIME_PREPOSITIONS:
        english.add(preposition[0])
        german.add(preposition[1])
    return sorted(english), sorted((german | set(CONTRACTIONS.values())) - {""})  # "": no particle


def relative(draws: Draws) -> Sentence:
    """the child that the cats called in the garden slept . / das kind , das die katzen im garten riefen , schlief ."""
    nouns = list(ANIMATE)
    subject, other = _phrase(draws, nouns), _phrase(draws, nouns)
    adverbials = _adverbials(draws, nouns, NUMBERS_OF_ADVERBIALS)
    inner, main = draws.pick(TRANSITIVE), draws.pick(INTRANSITIVE)
    if draws.pick((True, False)):  # the subject is the object of the clause
        pronoun = _article(subject, "accusative")
        clause = [*_english(other), inner.english]
        german = [pronoun, *_german(other, "nominative"), *_reversed(adverbials), _form(inner, other)]
    else:
        pronoun = _article(subject, "nominative")
        clause = [inner.english, *_english(other)]
        german = [pronoun, *_german(other, "accusative"), *_reversed(adverbials), _form(inner, subject)]
    english = [*_english(subject), "that", *clause, *_in_order(adverbials), main.english]
    return _sentence("relative", english, [], subject, [",", *german, ","], main, [])


def dass(draws: Draws) -> Sentence:
    """the man said that the cats saw the dog . / der mann sagte , dass die katzen den hund sahen ."""
    nouns = list(ANIMATE)
    speaker, subject, thing = _phrase(draws, nouns), _phrase(draws, nouns), _phrase(draws, nouns)
    adverbials = _adverbials(draws, nouns, NUMBERS_OF_ADVERBIALS)
    said, verb = draws.pick(REPORTING), draws.pick(TRANSITIVE)
    english = [*_english(speaker), said.english, "that", *_english(subject), verb.english, *_english(thing)]
    before = [*_german(speaker, "nominative"), _form(said, speaker), ",", "dass"]
    middle = [*_german(thing, "accusative"), *_reversed(adverbials)]
    return _sentence("dass", english + _in_order(adverbials), before, subject, middle, verb, [])


def separable(draws: Draws) -> Sentence:
    """the dog woke the child after the storm . / der hund weckte das kind nach dem sturm auf ."""
    nouns = list(ANIMATE)
    subject, thing = _phrase(draws, nouns), _phrase(draws, nouns)
    adverbials = _adverbials(draws, nouns, NUMBERS_OF_ADVERBIALS)
    verb = draws.pick(SEPARABLE)
    english = [*_english(subject), verb.english, *_english(thing), *_in_order(adverbials)]
    after = [*_german(thing, "accusative"), *_reversed(adverbials), verb.particle]
    return _sentence("separable", english, [], subject, [], verb, after)


def nested(draws: Draws) -> Sentence:
    """the child near the house , while the cats saw the dog , slept . / das kind beim haus , während ... , schlief ."""
    subject = _phrase(draws, list(ANIMATE))
    english, german = _english(subject), list[str]()
    places = list(PLACES)
    for _ in range(draws.pick((1, 2, 3))):
        place = Adverbial(draws.pick(PLACE_PREPOSITIONS), Phrase(draws.take(places), draws.pick((True, False))))
        english += _in_order([place])
        german += _reversed([place])
    clauses = [_while(draws, subject.noun) for _ in range(draws.pick((0, 1, 2, 3)))]
    for clause in clauses:
        english += [",", *clause[0]]
        german += [",", *clause[1]]
    if clauses:
        english.append(",")
        german.append(",")
    verb = draws.pick(INTRANSITIVE)
    return _sentence("nested", [*english, verb.english], [], subject, german, verb, [])


MAKERS = {"relative": relative, "dass": dass, "separable": separable, "nested": nested}


def _while(draws: Draws, outer: Noun) -> tuple[list[str], list[str]]:
    """while the cats saw the dog in the garden / während die katzen den hund im garten sahen"""
    nouns = [noun for noun in ANIMATE if noun != outer]
    subject, thing = (Phrase(draws.take(nouns), draws.pick((True, False))) for _ in range(2))
    adverbials = _adverbials(draws, nouns, (0, 1, 2, 2))
    verb = draws.pick(TRANSITIVE)
    english = ["while", *_english(subject), verb.english, *_english(thing), *_in_order(adverbials)]
    german = ["während", *_german(subject, "nominative"), *_german(thing, "accusative"), *_reversed(adverbials)]
    return english, [*german, _form(verb, subject)]


def _phrase(draws: Draws, nouns: list[Noun]) -> Phrase:
    """Noun, number and adjective are drawn independently, so that nothing but the noun itself tells its number."""
    return Phrase(draws.take(nouns), draws.pick((True, False)), draws.pick(ADJECTIVE_OR_NONE))


def _adverbials(draws: Draws, nouns: list[Noun], numbers: tuple[int, ...]) -> list[Adverbial]:
    """One of `numbers` many out of: a place, company, a time; in the English order."""
    kinds = [0, 1, 2]
    wanted = {draws.take(kinds) for _ in range(draws.pick(numbers))}
    place, company, event = draws.pick(PLACES), draws.take(nouns), draws.pick(EVENTS)
    options = ((PLACE_PREPOSITIONS, place), (COMPANY_PREPOSITIONS, company), (TIME_PREPOSITIONS, event))
    made = [Adverbial(draws.pick(words), Phrase(noun, draws.pick((True, False)))) for words, noun in options]
    return [made[kind] for kind in sorted(wanted)]


def _sentence(
    pattern: Pattern,
    english: list[str],
    before: list[str],
    subject: Phrase,
    middle: list[str],
    verb: Verb,
    after: list[str],
) -> Sentence:
    """Put a German sentence together, right and wrong, around the subject and the verb that agrees with it."""
    opening = [*before, *_german(subject, "nominative"), *middle]
    right, wrong = (verb.plural, verb.singular) if subject.plural else (verb.singular, verb.plural)
    return Sentence(
        english=" ".join([*english, "."]),
        german=" ".join([*opening, right, *after, "."]),
        wrong=" ".join([*opening, wrong, *after, "."]),
        distance=len(middle) + 1,  # a noun phrase ends with its noun
        pattern=pattern,
    )


def _form(verb: Verb, subject: Phrase) -> str:
    return verb.plural if subject.plural else verb.singular


def _english(phrase: Phrase) -> list[str]:
    noun = phrase.noun.english_plural if phrase.plural else phrase.noun.english
    return ["the", phrase.adjective.english, noun] if phrase.adjective else ["the", noun]


def _german(phrase: Phrase, case: Case) -> list[str]:
    article, noun = _article(phrase, case), _noun(phrase, case)
    if phrase.adjective is None:
        return [article, noun]
    bare = not phrase.plural and (case, phrase.noun.gender) in BARE_ENDINGS
    return [article, phrase.adjective.stem + ("e" if bare else "en"), noun]


def _article(phrase: Phrase, case: Case) -> str:
    """Definite article; in the nominative and the accusative also the relative pronoun."""
    return ARTICLES[case]["plural" if phrase.plural else phrase.noun.gender]


def _noun(phrase: Phrase, case: Case) -> str:
    if not phrase.plural:
        return phrase.noun.german
    return phrase.noun.dative_plural if case == "dative" else phrase.noun.german_plural


def _in_order(adverbials: list[Adverbial]) -> list[str]:
    """English words."""
    return [word for preposition, phrase in adverbials for word in (preposition[0], *_english(phrase))]


def _reversed(adverbials: list[Adverbial]) -> list[str]:
    """German words: time before company before place."""
    words: list[str] = []
    for preposition, phrase in reversed(adverbials):
        article, *noun = _german(phrase, "dative")
        contraction = CONTRACTIONS.get((preposition[1], article))
        words += [contraction, *noun] if contraction else [preposition[1], article, *noun]
    return words
