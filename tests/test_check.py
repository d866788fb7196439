"""Every check accepts what is right in any form, and turns away what is wrong with the right diagnosis."""
import importlib

import pytest
import torch
from book import CHAPTERS, as_in, read
from exercises import checked, exercises

from inside_transformer import check

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
