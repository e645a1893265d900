"""Bilinear enlargement of an image or a grid, by broadcasting."""

import numpy as np


def enlarge(image: np.ndarray, factor: int) -> np.ndarray:
    """Insert `factor` - 1 interpolated samples between neighbours along the first two axes.

    Parameters
    ----------
    image : ndarray, shape (h, w) or (h, w, channels)
    factor : int

    Returns
    -------
    ndarray, shape ((h - 1) * factor, (w - 1) * factor, ...)
        Of the type of `image`, which must be a floating-point one.
    """
    for axis in (0, 1):
        image = np.moveaxis(image, axis, 0)
        t = np.arange(factor, dtype=image.dtype) / factor
        t = t.reshape((factor,) + (1,) * (image.ndim - 1))
        between = image[:-1, np.newaxis] * (1 - t) + image[1:, np.newaxis] * t
        image = np.moveaxis(between.reshape((-1,) + image.shape[1:]), 0, axis)
    return image
