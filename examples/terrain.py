"""Slope, aspect and hillshade of the Jacksboro fault: an elevation model as geographers treat it.

    python terrain.py [out_dir]

Reads the 344 x 403 model that ships with matplotlib and enlarges it twelve times (4,116 x 4,824).
"""

import sys
from pathlib import Path

import numpy as np
from enlarge import enlarge
from record import Results, record

DEGREE = 111_200.0                      # metres of one degree of latitude
LIGHTS = {225: 0.2, 270: 0.2, 315: 0.4, 360: 0.2}
"""Azimuths (degrees) and weights of a multidirectional hillshade."""


def load() -> tuple[np.ndarray, float, float]:
    """Elevation in metres, and the cell size in metres, south and east."""
    from matplotlib.cbook import get_sample_data

    with get_sample_data("jacksboro_fault_dem.npz") as model:
        latitude = np.deg2rad((model["ymin"] + model["ymax"]) / 2)
        dy = DEGREE * float(model["dy"])
        dx = DEGREE * float(model["dx"] * np.cos(latitude))
        return model["elevation"].astype(np.float32), dy, dx


def hillshade(east: np.ndarray, south: np.ndarray, azimuth: float, altitude: float = 40) -> np.ndarray:
    """Light reflected by a surface of these gradients, from 0 to 1."""
    azimuth, altitude = np.deg2rad(azimuth), np.deg2rad(altitude)
    x = float(np.cos(altitude) * np.sin(azimuth))
    y = float(np.cos(altitude) * np.cos(azimuth))
    z = float(np.sin(altitude))
    shade = (z - x * east + y * south) / np.sqrt(1 + east**2 + south**2)
    return np.clip(shade, 0, 1)


def analyse(elevation: np.ndarray, dy: float, dx: float, factor: int) -> Results:
    """Slope and aspect in degrees, and the hillshade under several lights."""
    elevation = enlarge(elevation, factor)
    south, east = np.gradient(elevation, dy / factor, dx / factor)
    slope = np.degrees(np.arctan(np.sqrt(east**2 + south**2)))
    aspect = np.degrees(np.arctan2(-east, south)) % 360
    shade = sum(weight * hillshade(east, south, azimuth) for azimuth, weight in LIGHTS.items())
    low, high = elevation.min(), elevation.max()
    return {"height": (elevation - low) / (high - low), "slope": slope, "aspect": aspect, "shade": shade}


def draw(results: Results, out_dir: Path) -> None:
    from matplotlib import colormaps, image

    out_dir.mkdir(parents=True, exist_ok=True)
    height, slope, aspect, shade = (np.array(results[name][::4, ::4]) for name in results)
    relief = colormaps["gist_earth"](height * 0.8 + 0.15)[..., :3] * (0.3 + 0.9 * shade[..., np.newaxis])
    image.imsave(out_dir / "terrain_relief.png", np.clip(relief, 0, 1))
    image.imsave(out_dir / "terrain_slope.png", slope, cmap="magma")
    image.imsave(out_dir / "terrain_aspect.png", aspect, cmap="hsv")


def main(out_dir: str = "out", factor: int = 12) -> Results:
    elevation, dy, dx = load()
    results = record(lambda: analyse(elevation, dy, dx, factor))
    draw(results, Path(out_dir))
    return results


if __name__ == "__main__":
    main(*sys.argv[1:2])
