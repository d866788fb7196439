"""How a check answers: it names the first thing that is wrong and its likely cause, and keeps the solution to itself.

A check raises Wrong, or returns the line that says what was found right. It is written for a reader's function or
value, so it expects anything.
"""
import decimal
import functools
import numbers
import warnings

import numpy as np

STUB = (lambda: ...).__code__.co_code, (lambda: None).__code__.co_code
COARSE = {"float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}  # the step from one to the next larger number
HALF = ("The root is written as ** 1 / 2, which divides by the size itself, and then by two. Write ** 0.5, or put the "
        "fraction into brackets.")
UNREADABLE = "This check cannot read your answer"


class Wrong(Exception):
    """What is wrong, in words for the reader."""


class NotFilledIn(Exception):
    """The stub is as it was."""


def exercise(check):
    """Let a check print its answer instead of raising, whatever the answer is."""
    @functools.wraps(check)
    def checked(*answers):
        try:
            for answer in answers:
                if answer is ... or answer is None:
                    raise NotFilledIn("put your answer where the dots are")
            with np.errstate(all="ignore"):
                print("Right.", check(*answers))
        except NotFilledIn as stub:
            print(f"Not filled in yet: {stub}, and run the cell again.")
        except Wrong as wrong:
            print("Not yet.", wrong)
        except Exception as error:
            print(f"Not yet. {UNREADABLE}, which stops it with {type(error).__name__}: {error}")
    return checked


def call(function, *arguments):
    """What the reader's function gives back for copies of these arguments."""
    if not callable(function):
        raise Wrong(f"A function is asked for, without calling it: got {type(function).__name__}.")
    name = getattr(function, "__name__", type(function).__name__)
    given = [copy(argument) for argument in arguments]
    shapes = ", ".join(describe(argument) for argument in arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*given)
    except (Exception, SystemExit) as error:
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
    kind = str(getattr(got, "dtype", "")).rpartition(".")[2]
    if kind in COARSE and value.shape == right.shape and np.allclose(value, right, 2 * COARSE[kind], 2 * COARSE[kind]):
        raise Wrong(f"{what}: these are the right numbers as far as {kind} goes, which keeps only two or three digits. "
                    "Leave the numbers in the type in which they come in.")
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


def rounding(scores):
    """How far float32 may be off after an exponential of such scores: some of its steps near the largest of them."""
    return max(1e-5, 8 * np.finfo(np.float32).eps * np.abs(scores).max())


def tensor(values):
    """The values as a PyTorch tensor of the type that the chapter computes in."""
    import torch  # not above: chapters one to five do without PyTorch
    return torch.tensor(values, dtype=torch.get_default_dtype() if array(values).dtype.kind == "f" else None)


def array(value):
    """The value as a NumPy array, from PyTorch, and from lists of tensors, as well."""
    return np.asarray(plain(value))


def plain(value):
    """The value without tensors, also inside lists."""
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        return (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()  # NumPy has no bfloat16
    return value


def number_array(value, what):
    """The value as an array of numbers, where fractions and decimals are numbers, too."""
    try:
        found = array(value)
        if found.dtype == object and all(isinstance(part, (numbers.Real, decimal.Decimal)) for part in found.flat):
            found = found.astype(float)
    except ValueError:
        raise Wrong(f"{what}: numbers are asked for, got parts of different shapes.") from None
    except Exception:  # a tensor that holds no numbers, an integer that no float can hold
        raise Wrong(f"{what}: numbers are asked for, got {type(value).__name__}.") from None
    if found.dtype.kind not in "biuf":
        raise Wrong(f"{what}: numbers are asked for, got {found.tolist()!r}.")
    return found


def truth(answer):
    """The answer of a reader's test, True or False."""
    try:
        value = array(answer)
    except Exception:  # as number_array
        value = np.empty(0)
    if value.dtype.kind not in "bi" or value.size != 1 or value.item() not in (0, 1):
        shape = f", shape {value.shape}" if value.shape else f": {answer!r}"
        raise Wrong(f"One True or False is asked for, got {type(answer).__name__}{shape}.")
    return bool(value)


def close(value, right, tolerance):
    """Which entries are right."""
    return np.isclose(value, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def same(value, right, tolerance):
    return value.shape == right.shape and close(value, right, tolerance).all()


def place(value, right, tolerance):
    """The index of the first entry that differs."""
    return tuple(int(axis[0]) for axis in np.nonzero(~close(value, right, tolerance)))


def show(value, right, reveal, tolerance):
    """Expected and got, with shapes; of more than two axes only the first matrix that differs."""
    alike = value.shape == right.shape
    lead = place(value, right, tolerance)[:-2] if alike and right.ndim > 2 else ()
    if not reveal and right.shape == value.shape == ():
        return f"got {value}"
    precision = decimals(value[lead], right[lead], tolerance) if alike and reveal else 2
    lines = [f"expected, shape {right.shape}" + (listed(right, lead, precision) if reveal else "")]
    lead = lead or (0,) * max(0, value.ndim - 2)
    return "\n".join([*lines, f"got, shape {value.shape}" + listed(value, lead, precision)])


def decimals(value, right, tolerance):
    """How many it takes until no number that is wrong looks like the right one."""
    wrong = np.flatnonzero(~close(value, right, tolerance))

    def seen(values, precision):
        text = printed(values.astype(float), precision, threshold=values.size + 1)
        return np.array(text.replace("[", " ").replace("]", " ").split(), dtype=float)[wrong]
    return next((precision for precision in range(2, 17)
                 if (seen(value, precision) != seen(right, precision)).all()), 17)


def printed(values, precision, threshold=100):
    return np.array2string(values, precision=precision, floatmode="fixed", suppress_small=True, threshold=threshold)


def listed(values, lead, precision):
    if not values.size:
        return ""
    text = printed(values[lead], precision)
    at = f", at {', '.join(map(str, lead))}" if lead else ""
    return f"{at}: {text}" if "\n" not in text else f"{at}:\n{text}"


def describe(argument):
    shape = getattr(argument, "shape", None)
    if shape is not None:
        return f"an array of shape {tuple(shape)}"
    name = getattr(argument, "__name__", repr(argument))
    return type(argument).__name__ if "\n" in name else name  # an optimizer prints a line for each of its settings


def copy(argument):
    """A copy of an array or a tensor; everything else as it is."""
    clone = getattr(argument, "clone", None) or (argument.copy if isinstance(argument, np.ndarray) else None)
    return clone() if clone else argument
