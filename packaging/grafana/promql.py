"""As much of PromQL as Belay's dashboards use: what an expression asks for, which labels its answer has, and in which unit it is.

``check(text, metrics)`` compares an expression with the metrics that there are, and raises ``Mistake`` where it asks for something
that is never there, takes the rate of a gauge, or joins series that have different labels. ``metrics`` is what
declared_metrics prints, by name. Grafana's variables are to be replaced before.
"""

import collections
import re

_TOKEN = re.compile(r"""\s*(?:(?P<text>"(?:\\.|[^"\\])*")|(?P<number>\d+(?:\.\d+)?(?:[smhdwy](?=[\]\s,)]))?)
    |(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^(){}\[\],=<>]))""", re.VERBOSE)
_AGGREGATIONS = {"sum", "avg", "min", "max", "count"}
_OF_COUNTERS = {"rate": True, "increase": False}  # by whether it is per second
_LEVELS = [{"or"}, {"and", "unless"}, {"==", "!=", ">", "<", ">=", "<="}, {"+", "-"}, {"*", "/", "%"}]
_SET_OPERATORS = {"or", "and", "unless"}
_PER_SECOND = {"bytes": "bytes_per_second", "joules": "watts", "seconds": "seconds_per_second", "": "per_second"}
MIXED = "mixed"

# labels: those of the answer, None for a number. unit: as metrics name it, "" for counts, None for a number.
Answer = collections.namedtuple("Answer", "labels unit")
Range = collections.namedtuple("Range", "labels unit type name")
_NUMBER = Answer(None, None)


class Mistake(Exception):
    pass


def tokens(text):
    result, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Mistake(f"unknown sign at {text[at:at + 20]!r}")
        result.append((match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return result


class _Parser:
    def __init__(self, text, metrics):
        self._tokens, self._at, self._metrics = tokens(text), 0, metrics

    def _next(self, *wanted):
        """Whether the next token is one of these; if so, it is taken."""
        if self._at < len(self._tokens) and self._tokens[self._at][1] in wanted and self._tokens[self._at][0] != "text":
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _expect(self, *wanted):
        found = self._next(*wanted)
        if found is None:
            rest = " ".join(text for _, text in self._tokens[self._at:self._at + 5])
            raise Mistake(f"expected {' or '.join(wanted)} before {rest!r}")
        return found

    def _take(self, kind):
        if self._at == len(self._tokens) or self._tokens[self._at][0] != kind:
            raise Mistake(f"expected a {kind}")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def whole(self):
        answer = self._binary(0)
        if self._at != len(self._tokens):
            raise Mistake(f"what is {self._tokens[self._at][1]!r} there for?")
        if isinstance(answer, Range):
            raise Mistake("it ends with a range")
        return answer

    def _binary(self, level):
        if level == len(_LEVELS):
            return self._primary()
        left = self._binary(level + 1)
        while operator := self._next(*_LEVELS[level]):
            on = self._labels() if self._next("on") else None
            left = _joined(left, operator, on, self._binary(level + 1))
        return left

    def _labels(self):
        self._expect("(")
        names = []
        while not self._next(")"):
            names.append(self._take("name"))
            if not self._next(","):
                self._expect(")")
                break
        return frozenset(names)

    def _primary(self):
        if self._next("("):
            answer = self._binary(0)
            self._expect(")")
            return answer
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "number":
            self._at += 1
            return _NUMBER
        name = self._take("name")
        if name in _AGGREGATIONS:
            return self._aggregation(name)
        if name in _OF_COUNTERS:
            return self._of_a_counter(name)
        if name == "label_replace":
            return self._label_replace()
        if self._next("("):
            raise Mistake(f"the function {name} is unknown")
        return self._selector(name)

    def _aggregation(self, name):
        by = self._labels() if self._next("by") else frozenset()
        self._expect("(")
        of = self._binary(0)
        self._expect(")")
        if isinstance(of, Range) or of.labels is None:
            raise Mistake(f"{name} of what is not a vector")
        if by - of.labels:
            raise Mistake(f"{name} by {', '.join(sorted(by - of.labels))}, which is not among the labels {', '.join(sorted(of.labels))}")
        return Answer(by, "" if name == "count" else of.unit)

    def _of_a_counter(self, name):
        self._expect("(")
        of = self._binary(0)
        self._expect(")")
        if not isinstance(of, Range) or of.type != "counter":
            raise Mistake(f"{name} of what is not a range of a counter")
        return Answer(of.labels, _PER_SECOND.get(of.unit, MIXED) if _OF_COUNTERS[name] else of.unit)

    def _label_replace(self):
        self._expect("(")
        of = self._binary(0)
        texts = []
        while self._next(","):
            texts.append(self._take("text")[1:-1])
        self._expect(")")
        if len(texts) != 4 or isinstance(of, Range) or of.labels is None:
            raise Mistake("label_replace takes a vector and four texts")
        return Answer(of.labels | {texts[0]}, of.unit)

    def _selector(self, name):
        metric = self._metrics.get(name)
        if metric is None:
            raise Mistake(f"the metric {name} is unknown")
        if self._next("{"):
            while not self._next("}"):
                self._matcher(metric)
                if not self._next(","):
                    self._expect("}")
                    break
        labels = frozenset(metric["labels"])
        if self._next("["):
            self._take("number")
            self._expect("]")
            return Range(labels, metric["unit"], metric["type"], name)
        if metric["type"] == "counter":
            raise Mistake(f"{name} is a counter: only its rate or increase means something")
        return Answer(labels, metric["unit"])

    def _matcher(self, metric):
        label = self._take("name")
        operator = self._expect("=", "!=", "=~", "!~")
        text = self._take("text")[1:-1]
        if label not in metric["labels"]:
            raise Mistake(f"{metric['name']} has no label {label}, but {', '.join(metric['labels'])}")
        values = metric["labels"][label]
        if values is None or text == ".+":
            return
        for wanted in text.split("|") if "~" in operator else [text]:
            if wanted not in values:
                raise Mistake(f"{label} of {metric['name']} is never {wanted!r}, but {', '.join(values)}")


def _joined(left, operator, on, right):
    if isinstance(left, Range) or isinstance(right, Range):
        raise Mistake(f"{operator} of a range")
    if left.labels is None and right.labels is None:
        return _NUMBER
    if left.labels is None or right.labels is None:
        if operator in _SET_OPERATORS or on is not None:
            raise Mistake(f"{operator} of a number")
        return left if right.labels is None else right
    if on is not None and (on - left.labels or on - right.labels):
        raise Mistake(f"{operator} on labels that not both sides have: {', '.join(sorted((on - left.labels) | (on - right.labels)))}")
    if operator == "or":
        return Answer(left.labels | right.labels, left.unit if left.unit == right.unit else MIXED)
    if on is None and left.labels != right.labels:
        raise Mistake(f"{operator} of series with different labels: {', '.join(sorted(left.labels ^ right.labels))}")
    if operator in ("and", "unless"):
        return left
    unit = left.unit
    if operator == "/":
        unit = "ratio" if left.unit == right.unit else MIXED
    elif operator in ("*", "%") or (operator in ("+", "-") and left.unit != right.unit):
        unit = MIXED
    return Answer(left.labels if on is None else on, unit)


def check(text, metrics):
    """The ``Answer`` that the expression has. Raises ``Mistake``."""
    return _Parser(text, metrics).whole()
