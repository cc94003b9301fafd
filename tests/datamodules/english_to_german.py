"""A translator of the grammar's English by rules and a dictionary of its own: it reads the words only."""

from typing import NamedTuple

NOUNS = """
dog dogs m hund hunde hunden
man men m mann männer männern
bird birds m vogel vögel vögeln
cat cats f katze katzen katzen
woman women f frau frauen frauen
duck ducks f ente enten enten
child children n kind kinder kindern
girl girls n mädchen mädchen mädchen
horse horses n pferd pferde pferden
garden gardens m garten gärten gärten
forest forests m wald wälder wäldern
street streets f straße straßen straßen
house houses n haus häuser häusern
storm storms m sturm stürme stürmen
lesson lessons f stunde stunden stunden
party parties n fest feste festen
"""
STEMS = {"old": "alt", "young": "jung", "small": "klein", "tired": "müd"}
PREPOSITIONS = {"in": "in", "behind": "hinter", "near": "bei", "with": "mit", "after": "nach", "before": "vor"}
SIMPLE = {
    "slept": ("schlief", "schliefen"),
    "laughed": ("lachte", "lachten"),
    "ran": ("lief", "liefen"),
    "waited": ("wartete", "warteten"),
    "sang": ("sang", "sangen"),
    "called": ("rief", "riefen"),
    "saw": ("sah", "sahen"),
    "heard": ("hörte", "hörten"),
    "found": ("fand", "fanden"),
    "visited": ("besuchte", "besuchten"),
    "said": ("sagte", "sagten"),
    "believed": ("glaubte", "glaubten"),
}
SEPARABLE = {
    "woke": ("weckte", "weckten", "auf"),
    "invited": ("lud", "luden", "ein"),
    "stopped": ("hielt", "hielten", "an"),
}
# article, then weak ending of an adjective; columns: masculine, feminine, neuter, plural
DEFINITE = {
    "nominative": {"m": ("der", "e"), "f": ("die", "e"), "n": ("das", "e"), "p": ("die", "en")},
    "accusative": {"m": ("den", "en"), "f": ("die", "e"), "n": ("das", "e"), "p": ("die", "en")},
    "dative": {"m": ("dem", "en"), "f": ("der", "en"), "n": ("dem", "en"), "p": ("den", "en")},
}


class Noun(NamedTuple):
    gender: str  # "p" if plural
    form: str
    dative: str


def _nouns() -> dict[str, Noun]:
    found = {}
    for line in NOUNS.split("\n")[1:-1]:
        one, many, gender, singular, plural, dative_plural = line.split()
        found[one] = Noun(gender, singular, singular)
        found[many] = Noun("p", plural, dative_plural)
    return found


LEXICON = _nouns()


class Translator:
    """Reads an English sentence from left to right."""

    def __init__(self, english: str) -> None:
        self.words = english.split(" ")

    def translate(self) -> str:
        subject = self.noun_phrase()
        match self.words[0]:
            case "that":
                german = self.relative(subject)
            case "said" | "believed":
                german = self.report(subject)
            case "woke" | "invited" | "stopped":
                german = self.separable(subject)
            case _:
                german = self.nested(subject)
        assert self.words == ["."]
        return " ".join([*german, "."])

    def noun_phrase(self) -> tuple[str | None, Noun]:
        self.expect("the")
        adjective = STEMS[self.words.pop(0)] if self.words[0] in STEMS else None
        return adjective, LEXICON[self.words.pop(0)]

    def relative(self, subject: tuple[str | None, Noun]) -> list[str]:
        self.expect("that")
        head = subject[1].gender
        if self.words[0] == "the":
            other = self.noun_phrase()
            verb = self.verb(other)
            inside = [DEFINITE["accusative"][head][0], *inflect(other, "nominative"), *self.adverbials(), verb]
        else:
            verb = self.verb(subject)
            other = self.noun_phrase()
            inside = [DEFINITE["nominative"][head][0], *inflect(other, "accusative"), *self.adverbials(), verb]
        return [*inflect(subject, "nominative"), ",", *inside, ",", self.verb(subject)]

    def report(self, speaker: tuple[str | None, Noun]) -> list[str]:
        said = self.verb(speaker)
        self.expect("that")
        return [*inflect(speaker, "nominative"), said, ",", "dass", *self.clause()]

    def clause(self) -> list[str]:
        subject = self.noun_phrase()
        verb = self.verb(subject)
        thing = self.noun_phrase()
        return [*inflect(subject, "nominative"), *inflect(thing, "accusative"), *self.adverbials(), verb]

    def separable(self, subject: tuple[str | None, Noun]) -> list[str]:
        singular, plural, particle = SEPARABLE[self.words.pop(0)]
        thing = inflect(self.noun_phrase(), "accusative")
        verb = plural if subject[1].gender == "p" else singular
        return [*inflect(subject, "nominative"), verb, *thing, *self.adverbials(), particle]

    def nested(self, subject: tuple[str | None, Noun]) -> list[str]:
        german = inflect(subject, "nominative")
        while self.words[0] in PREPOSITIONS:
            german += self.adverbial()
        while self.words[:2] == [",", "while"]:
            self.words = self.words[2:]
            german += [",", "während", *self.clause()]
        if self.words[0] == ",":
            german.append(self.words.pop(0))
        return [*german, self.verb(subject)]

    def verb(self, subject: tuple[str | None, Noun]) -> str:
        return SIMPLE[self.words.pop(0)][subject[1].gender == "p"]

    def adverbials(self) -> list[str]:
        found: list[str] = []
        while self.words[0] in PREPOSITIONS:
            found = self.adverbial() + found
        return found

    def adverbial(self) -> list[str]:
        preposition = PREPOSITIONS[self.words.pop(0)]
        german = " ".join([preposition, *inflect(self.noun_phrase(), "dative")])
        for long, short in (("in dem ", "im "), ("bei dem ", "beim ")):
            german = short + german.removeprefix(long) if german.startswith(long) else german
        return german.split(" ")

    def expect(self, word: str) -> None:
        assert self.words.pop(0) == word


def inflect(phrase: tuple[str | None, Noun], case: str) -> list[str]:
    adjective, noun = phrase
    article, ending = DEFINITE[case][noun.gender]
    form = noun.dative if case == "dative" else noun.form
    return [article, form] if adjective is None else [article, adjective + ending, form]


def translate(english: str) -> str:
    """The German sentence."""
    return Translator(english).translate()
