"""How a check answers: it names the first thing that is wrong and its likely cause, and keeps the solution to itself.

A check raises Wrong, or returns the line that says what was found right. It is written for a reader's function or
value, so it expects anything.
"""
import functools
import warnings

import numpy as np

STUB = (lambda: ...).__code__.co_code, (lambda: None).__code__.co_code


class Wrong(Exception):
    """What is wrong, in words for the reader."""


class NotFilledIn(Exception):
    """The stub is as it was."""


def exercise(check):
    """Let a check print its answer instead of raising."""
    @functools.wraps(check)
    def checked(*answers):
        try:
            for answer in answers:
                if answer is ... or answer is None:
                    raise NotFilledIn("put your answer where the dots are")
            print("Right.", check(*answers))
        except NotFilledIn as stub:
            print(f"Not filled in yet: {stub}, and run the cell again.")
        except Wrong as wrong:
            print("Not yet.", wrong)
    return checked


def call(function, *arguments):
    """What the reader's function gives back for copies of these arguments."""
    if not callable(function):
        raise Wrong(f"A function is asked for, without calling it: got {type(function).__name__}.")
    name = getattr(function, "__name__", type(function).__name__)
    given = [copy(argument) for argument in arguments]
    shapes = ", ".join(describe(argument) for argument in arguments)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*given)
    except Exception as error:
        raise Wrong(f"{name} stops with {type(error).__name__}: {error}\nIt was called with {shapes}.") from None
    if result is None or result is ...:
        if getattr(getattr(function, "__code__", None), "co_code", None) in STUB:
            raise NotFilledIn(f"write {name}")
        raise Wrong(f"{name} gives nothing back: it needs a return at its end.")
    for before, after in zip(arguments, given):
        if hasattr(before, "shape") and not np.array_equal(array(before), array(after), equal_nan=True):
            raise Wrong(f"{name} changes its argument in place: whoever called it still needs those numbers.")
    return result


def compare(got, right, mistakes=(), what="The result", reveal=True, tolerance=1e-5):
    """Raise Wrong unless `got` is `right`, with the cause whose value it equals, if one does.

    mistakes: pairs of a cause, in words, and the value that it leads to. reveal: whether to show the right numbers.
    """
    right, value = array(right), number_array(got, what)
    if same(value, right, tolerance):
        return
    shown = show(value, right, reveal, tolerance)
    for cause, mistaken in mistakes:
        if same(value, array(mistaken), tolerance):
            raise Wrong(f"{cause}\n{shown}")
    if value.shape != right.shape:
        raise Wrong(f"{what}: the shape is {value.shape}, and {right.shape} is expected.\n{shown}")
    if np.isnan(value).any() and not np.isnan(right).any():
        raise Wrong(f"{what}: there is NaN. Somewhere zero is divided by zero, or infinity by infinity.\n{shown}")
    raise Wrong(f"{what}: first at {place(value, right, tolerance)} something else is expected.\n{shown}" if right.shape else
                f"{what}: another number is expected.\n{shown}")


def choose(answer, right, reasons):
    """Raise Wrong unless the letters in `answer` are those in `right`; `reasons` says of each other letter why not."""
    try:
        letters = {letter.lower() for letter in "".join(answer) if letter.isalnum()}
    except TypeError:
        raise Wrong(f'Answer with letters, as in "ab": got {type(answer).__name__}.') from None
    known = sorted({*right, *reasons})
    if not letters or letters - set(known):
        raise Wrong(f"Choose among the letters {', '.join(known)}.")
    for letter in sorted(letters & set(reasons)):
        raise Wrong(f"({letter}) does not hold: {reasons[letter]}")
    if letters != set(right):
        raise Wrong("What you chose holds, but it is not all that holds.")


def tensor(values):
    """The values as a PyTorch tensor of the type that the chapter computes in."""
    import torch  # not above: chapters one to five do without PyTorch
    return torch.tensor(values, dtype=torch.get_default_dtype() if array(values).dtype.kind == "f" else None)


def array(value):
    """The value as a NumPy array, from PyTorch as well."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def number_array(value, what):
    try:
        value = array(value)
    except ValueError:
        value = np.asarray(f"{len(value)} parts of different shapes")
    if value.dtype.kind not in "biuf":
        raise Wrong(f"{what}: numbers are asked for, got {value.tolist()!r}.")
    return value


def same(value, right, tolerance):
    return value.shape == right.shape and np.allclose(value, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def place(value, right, tolerance):
    """The index of the first entry that differs."""
    wrong = ~np.isclose(value, right, rtol=tolerance, atol=tolerance, equal_nan=True)
    return tuple(int(axis[0]) for axis in np.nonzero(wrong))


def show(value, right, reveal, tolerance):
    """Expected and got, with shapes; of more than two axes only the first matrix that differs."""
    lead = () if value.shape != right.shape or right.ndim <= 2 else place(value, right, tolerance)[:-2]
    if not reveal and right.shape == value.shape == ():
        return f"got {value}"
    lines = [f"expected, shape {right.shape}" + (listed(right, lead) if reveal else "")]
    return "\n".join([*lines, f"got, shape {value.shape}" + listed(value, lead or (0,) * max(0, value.ndim - 2))])


def listed(values, lead):
    if not values.size:
        return ""
    text = np.array2string(values[lead], precision=2, floatmode="fixed", suppress_small=True, threshold=100)
    at = f", at {', '.join(map(str, lead))}" if lead else ""
    return f"{at}: {text}" if "\n" not in text else f"{at}:\n{text}"


def describe(argument):
    shape = getattr(argument, "shape", None)
    return getattr(argument, "__name__", repr(argument)) if shape is None else f"an array of shape {tuple(shape)}"


def copy(argument):
    """A copy of an array or a tensor; everything else as it is."""
    clone = getattr(argument, "clone", None) or (argument.copy if isinstance(argument, np.ndarray) else None)
    return clone() if clone else argument
