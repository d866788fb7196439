"""One place that turns an argument into an array of real numbers, or says what is wrong with it."""
import numpy as np


def real(name, array, axes=None, min_axes=0):
    """`array` as a NumPy array of floats; a ValueError that names the argument where that cannot be."""
    array = as_array(name, array)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} needs real numbers, got {array.dtype}, shape {array.shape}")
    if axes is not None and array.ndim != axes:
        raise ValueError(f"{name} needs {axes} axes, got shape {array.shape}")
    if array.ndim < min_axes:
        raise ValueError(f"{name} needs at least {min_axes} axes, got shape {array.shape}")
    # Some of NumPy's functions want the byte order of the machine.
    return array.astype(array.dtype.newbyteorder("=") if array.dtype.kind == "f" else float, copy=False)


def finite(name, array, axes=None, min_axes=0):
    """The same, without NaN and infinity."""
    array = real(name, array, axes, min_axes)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity, shape {array.shape}")
    return array


def some(name, array, axes, masked=False):
    """Finite numbers, at least one of them; -inf too where some may be masked."""
    array = real(name, array, axes)
    finite(name, np.where(np.isneginf(array), 0, array) if masked else array)
    if not array.size:
        raise ValueError(f"{name} holds nothing to draw, shape {array.shape}")
    return array


def as_array(name, array):
    """`array` as a NumPy array; a ValueError that names the argument and says why where that cannot be."""
    if np.ma.is_masked(array):
        raise ValueError(f"{name} has masked entries, which would count as numbers here: fill them first")
    try:
        return np.asarray(array)
    except Exception as error:  # each kind of object refuses in its own way, a tensor with four different errors
        why = "its rows differ in length" if "inhomogeneous" in str(error) else error
        raise ValueError(f"{name} is not an array: {why}") from error
