"""Grade, sharpen and trace a photograph.

    python photo.py [out_dir]

Reads the portrait of Grace Hopper that ships with matplotlib and enlarges it eight times (4,792 x 4,088).
"""

import sys
from pathlib import Path

import numpy as np
from enlarge import enlarge
from record import Results, record

GAMMA = 2.2
BINOMIAL = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def load() -> np.ndarray:
    """The picture as float32 from 0 to 1, shape (h, w, 3)."""
    from matplotlib import image
    from matplotlib.cbook import get_sample_data

    with get_sample_data("grace_hopper.jpg") as file:
        return np.asarray(image.imread(file, format="jpg")).astype(np.float32) / 255


def luminance(image: np.ndarray) -> np.ndarray:
    red, green, blue = image[..., 0], image[..., 1], image[..., 2]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def grade(image: np.ndarray, saturation: float = 1.35) -> np.ndarray:
    """More saturated; shadows tinted blue and lights tinted orange, in linear light."""
    linear = image**GAMMA
    grey = luminance(linear)[..., np.newaxis]
    linear = grey + saturation * (linear - grey)
    t = np.clip((grey - 0.05) / 0.5, 0, 1)
    lights = t * t * (3 - 2 * t)
    shadow_tint = np.array([0.92, 0.98, 1.12], dtype=np.float32)
    light_tint = np.array([1.08, 1.01, 0.90], dtype=np.float32)
    linear = linear * (shadow_tint * (1 - lights) + light_tint * lights)
    return np.clip(linear, 0, 1) ** (1 / GAMMA)


def blur(image: np.ndarray) -> np.ndarray:
    """Binomial blur over five pixels along both axes; edge pixels are repeated outwards."""
    rows, columns = image.shape[:2]
    padded = np.pad(image, [(2, 2), (2, 2), (0, 0)], mode="edge")
    across = sum(w * padded[:, i : i + columns] for i, w in enumerate(BINOMIAL))
    return sum(w * across[i : i + rows] for i, w in enumerate(BINOMIAL))


def unsharp_mask(image: np.ndarray, amount: float = 1.5) -> np.ndarray:
    return np.clip(image + amount * (image - blur(image)), 0, 1)


def edges(grey: np.ndarray) -> np.ndarray:
    """Strength of the gradient (Sobel), relative to the strongest."""
    p = grey
    right = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]
    left = p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2]
    below = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]
    above = p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:]
    strength = np.sqrt((right - left) ** 2 + (below - above) ** 2)
    return strength / strength.max()


def to_bytes(image: np.ndarray) -> np.ndarray:
    return (image * 255 + 0.5).astype(np.uint8)


def develop(image: np.ndarray, factor: int) -> Results:
    """The graded picture, sharpened, and its edges, as bytes."""
    graded = grade(enlarge(image, factor))
    sharp = unsharp_mask(graded)
    return {
        "graded": to_bytes(graded),
        "sharp": to_bytes(sharp),
        "edges": to_bytes(edges(luminance(graded))),
    }


def draw(results: Results, out_dir: Path) -> None:
    from matplotlib import image

    out_dir.mkdir(parents=True, exist_ok=True)
    for name, picture in results.items():
        image.imsave(out_dir / f"photo_{name}.png", np.array(picture[::4, ::4]), cmap="gray")


def main(out_dir: str = "out", factor: int = 8) -> Results:
    image = load()
    results = record(lambda: develop(image, factor))
    draw(results, Path(out_dir))
    return results


if __name__ == "__main__":
    main(*sys.argv[1:2])
