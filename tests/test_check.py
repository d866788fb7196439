"""Every check accepts what is right in any form, and turns away what is wrong with the right diagnosis."""
import contextlib
import importlib
from fractions import Fraction

import numpy as np
import pytest
import torch
from book import CHAPTERS, as_in, read
from exercises import checked, exercises

from inside_transformer import check, sentence
from inside_transformer.check._answer import UNREADABLE, Wrong, array, call, compare, same

ANSWERS = {path.stem: importlib.import_module(f"answers.chapter_{path.name[:2]}") for path in CHAPTERS}
RIGHT = [(name, answer) for answers in ANSWERS.values() for name, given in answers.RIGHT.items() for answer in given]
WRONG = [(name, *case) for answers in ANSWERS.values() for name, cases in answers.WRONG.items() for case in cases]
CHAPTER = {name: path for path in CHAPTERS for name in ANSWERS[path.stem].RIGHT}  # the one that sets PyTorch up
SOLUTIONS = {checked(cell): cell.source for path in CHAPTERS for parts in exercises(read(path))
             for cell in parts["solution"]}


def printed(capsys, name, answer):
    with as_in(CHAPTER[name]):
        assert getattr(check, name)(answer) is None
    return capsys.readouterr().out


@pytest.mark.parametrize("name, answer", RIGHT)
def test_right_in_another_form(capsys, name, answer):
    assert printed(capsys, name, answer).startswith("Right. ")


@pytest.mark.parametrize("name, answer, diagnosis", WRONG)
def test_wrong_answer_is_found(capsys, name, answer, diagnosis):
    """The diagnosis names the cause, and gives no line of the solution away."""
    answered = printed(capsys, name, answer)
    assert answered.startswith("Not yet. ") and diagnosis in answered
    lines = [line.partition("#")[0].strip() for line in SOLUTIONS[name].splitlines()[:-1]]
    assert not [line for line in lines if len(line) > 12 and line in answered]


@pytest.mark.parametrize("name", SOLUTIONS)
def test_stub_as_it_was(capsys, name):
    assert printed(capsys, name, ...).startswith("Not filled in yet: ")


@pytest.mark.parametrize("number, dtype, grad", [(11, torch.float64, False), (12, torch.float32, True)])
def test_a_check_runs_under_the_settings_of_its_chapter(number, dtype, grad):
    """They are those that the cells of the chapter set, and are gone afterward."""
    def settings():
        return torch.get_default_dtype(), torch.is_grad_enabled()
    with as_in(CHAPTERS[9]):
        with as_in(CHAPTERS[number - 1]):
            assert settings() == (dtype, grad)
        assert settings() == (torch.float64, False)
    assert settings() == (torch.float32, True)


def test_every_check_is_tried():
    """Each belongs to one exercise, and rejects at least three wrong answers, each for another reason."""
    public = {name for name in vars(check) if hasattr(getattr(check, name), "__wrapped__")}
    uses = [checked(cell) for path in CHAPTERS for parts in exercises(read(path)) for cell in parts["exercise"]]
    assert sorted(uses) == sorted(public) == sorted(SOLUTIONS)
    assert {name for name, _ in RIGHT} == public
    assert all(len({diagnosis for known, _, diagnosis in WRONG if known == name}) >= 3 for name in public)


ODD = [
    float("nan"), float("inf"), 1.7e308, 10 ** 400, 1j, Fraction(1, 3), True, "text", b"bytes", "", object(), len, int,
    {}, {"Q": 1}, {1, 2}, iter([1, 2]), [], [[]], [[1], [1, 2]], [..., ...], [None], [object()], range(3), slice(3),
    np.array("x"), np.array(None), np.array([1, "a"], dtype=object), np.datetime64("2026-01-01"), np.zeros((0, 3)),
    np.zeros((2, 1, 3, 1)), torch.zeros(2, device="meta"), torch.ones(2).to_sparse(), torch.ones(3, requires_grad=True),
    [torch.ones((), requires_grad=True)] * 2, torch.ones(2, dtype=torch.bfloat16), torch.ones(2, 2) * 1j,
]
FORMS = [  # of a right answer, or of what a right function gives
    lambda given: torch.as_tensor(given).bfloat16(), lambda given: torch.as_tensor(given).half(),
    lambda given: torch.as_tensor(given).to("meta"), lambda given: torch.as_tensor(given).to_sparse(),
    lambda given: torch.as_tensor(given).double().requires_grad_(), lambda given: np.asarray(given) + 0j,
    lambda given: np.asarray(given).astype(str), lambda given: np.full(np.shape(given), np.nan),
    lambda given: np.full(np.shape(given), 1.7e308), lambda given: np.full(np.shape(given), -1.7e308),
    lambda given: 1.7e308 * (-1.0) ** np.indices(np.shape(given)).sum(0),
    lambda given: np.vectorize(Fraction, otypes=[object])(given), lambda given: np.asarray(given).tolist(),
    lambda given: [given], lambda given: given[0], lambda given: [given, *given], lambda given: dict(enumerate(given)),
]


@pytest.mark.parametrize("name", SOLUTIONS)
def test_no_answer_stops_a_check(capsys, name):
    """Whatever it is, and whatever a function gives back, a sentence of the check itself comes back."""
    right = next(answer for known, answer in RIGHT if known == name)
    answers = [*ODD, *(lambda *given, odd=odd: odd for odd in ODD)]
    for form in FORMS:
        if callable(right):
            answers.append(lambda *given, form=form: form(right(*given)))
        else:
            with contextlib.suppress(Exception):  # this form does not fit the answer
                answers.append(form(right))
    for answer in answers:
        answered = printed(capsys, name, answer)
        assert answered.startswith(("Right. ", "Not yet. ", "Not filled in yet: ")), answer
        assert UNREADABLE not in answered, answer


def test_what_no_check_can_read(capsys):
    class Odd:
        def __array__(self, *given, **more):
            raise KeyError("odd")

        def __repr__(self):
            raise KeyError("odd")
    assert "numbers are asked for, got Odd" in printed(capsys, "dot_by_hand", Odd())
    assert UNREADABLE in printed(capsys, "batch_shapes", dict.fromkeys(("Q", "K turned", "weights", "output"), Odd()))


@pytest.mark.parametrize("right, got, texts", [
    ([1.0, 2.0], [1.0004, 3.0], ["[1.0000 2.0000]", "[1.0004 3.0000]"]),
    ([1e9, 12345.67], [1e9, 12346.67], ["1.2346e+04", "1.2347e+04"]),
    (0.00001, -0.00002, ["0.00001", "-0.00002"]),
    (3, 3.001, [": 3", "3.001"]),
    (np.eye(12) / 3, np.eye(12) / 3.001, ["0.3333", "0.3332"]),
    ([0.5], [0.75], ["[0.50]", "[0.75]"]),
])
def test_what_differs_looks_different(right, got, texts):
    with pytest.raises(Wrong) as wrong:
        compare(got, right)
    expected, given = str(wrong.value).split("got, shape")
    assert texts[0] in expected and texts[1] in given


def test_half_precision_has_its_own_sentence():
    for kind in (torch.bfloat16, torch.float16):
        right = torch.linspace(-2, 2, 12).view(3, 4)
        with pytest.raises(Wrong, match="right numbers as far as b?float16 goes"):
            compare((right / 3).to(kind), right / 3)
        with pytest.raises(Wrong, match="something else is expected"):
            compare((right / 2).to(kind), right / 3)
        compare(right.to(torch.int32).to(kind), right.to(torch.int32))  # it holds these exactly


def test_what_a_chapter_changes_is_its_own(capsys):
    """The arrays and lists of the sentence, that chapters import and readers change in place."""
    for name in ("WORDS", "TOKENS", "X", "WORD_X", "W_Q", "W_K", "W_V", "W_O", "P"):
        before = repr(getattr(sentence, name))
        getattr(sentence, name)[0] = 0
        assert repr(getattr(sentence, name)) == before
    with pytest.raises(AttributeError, match="no attribute 'W_X'"):
        sentence.W_X
    from inside_transformer.sentence import P, WORD_X, X
    P[3] = X[0] = WORD_X[0] = 0
    for name in ("mix_by_hand", "animate_ball", "query", "break_symmetry", "query_by_hand", "value", "look_up"):
        for known, answer in RIGHT:
            assert known != name or printed(capsys, name, answer).startswith("Right. ")


@pytest.mark.parametrize("name", SOLUTIONS)
def test_causes_are_told_apart(monkeypatch, capsys, name):
    """No two causes lead to the same numbers where the first of them shows, as they would if sizes were multiples."""
    found, shown = [], set()

    def telling(got, right, mistakes=(), what="", reveal=True, tolerance=1e-5):
        right, met = array(right), []
        for cause, mistaken in mistakes:
            mistaken = array(mistaken)
            if cause not in shown and not same(mistaken, right, tolerance):
                found.extend({cause, other} for other, value in met
                             if cause != other and same(value, mistaken, tolerance))
                met.append((cause, mistaken))
        shown.update(cause for cause, _ in met)
        compare(got, right, mistakes, what, reveal, tolerance)
    checks = importlib.import_module(getattr(check, name).__module__)
    if hasattr(checks, "compare"):
        monkeypatch.setattr(checks, "compare", telling)
    assert printed(capsys, name, next(answer for known, answer in RIGHT if known == name)).startswith("Right. ")
    assert not found


# From chapter 9 on, a check takes arrays and lists for tensors.
LATE = [(name, answer) for stem, answers in ANSWERS.items() if stem >= "09"
        for name, given in answers.RIGHT.items() for answer in given if callable(answer)]
TYPES = [lambda value: value.detach().numpy(), lambda value: value.tolist()] + [
    lambda value, dtype=dtype: value.to(dtype) if value.is_floating_point() else value
    for dtype in (torch.float32, torch.float64)]


def converted(value, convert):
    """The value with each array and tensor in it as something else."""
    if isinstance(value, (list, tuple)):
        return [converted(part, convert) for part in value]
    return convert(torch.as_tensor(value)) if hasattr(value, "shape") else value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name, answer", LATE)
def test_right_in_any_type(capsys, name, answer, dtype):
    """Computed in float32 and in float64, and handed over in either, as NumPy arrays, and as lists."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        for form in TYPES:
            assert printed(capsys, name, lambda *given: converted(answer(*given), form)).startswith("Right. ")
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("name", SOLUTIONS)
def test_sizes_differ(monkeypatch, name):
    """In its first case, no two axes of an array are alike, but those of a square, and no size is a power of another."""
    calls = []

    def noting(function, *arguments):
        calls.append(arguments)
        return call(function, *arguments)
    monkeypatch.setattr(importlib.import_module(getattr(check, name).__module__), "call", noting, raising=False)
    getattr(check, name)(next(answer for known, answer in RIGHT if known == name))
    arguments = calls[0] if calls else ()
    shapes = [tuple(argument.shape) for argument in arguments if hasattr(argument, "shape")]
    for shape in shapes:
        sizes = shape[:-1] if len(shape) > 1 and shape[-2] == shape[-1] else shape
        assert len(set(sizes)) == len(sizes)
    sizes = {size for shape in shapes for size in shape} | {size for size in arguments if isinstance(size, int)}
    assert not {size ** power for size in sizes - {0, 1} for power in (2, 3, 4)} & sizes
