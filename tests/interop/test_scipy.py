"""SciPy on lazy arrays: NumPy's results, whether the arrays exist or wait."""

from __future__ import annotations

import operator

import numpy
import pytest
from programs import MISSING, check, same, table, ways

import lazyarr

pytest.importorskip("scipy", reason=MISSING)

from scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)  # fmt: skip


def minimize(np, d):
    """The objective and its gradient are the program's own, over lazy arrays."""
    x, y = d.normal(d.n), d.normal(d.n)

    def loss(p):
        return np.mean((p[0] * x + p[1] - y) ** 2) + np.sum(p**2) * 0.1

    def gradient(p):
        r = p[0] * x + p[1] - y
        return np.array([2 * np.mean(r * x), 2 * np.mean(r)]) + 0.2 * p

    found = [optimize.minimize(loss, np.ones(2), method=m, jac=gradient) for m in ("BFGS", "L-BFGS-B")]
    found.append(optimize.minimize(loss, np.zeros(2), method="Nelder-Mead"))
    return [(f.x, f.fun, f.nit) for f in found]


def curve_fit(np, d):
    x = np.linspace(0, 4, d.n)
    y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.01 * d.normal(d.n)
    p, covariance = optimize.curve_fit(lambda x, a, b, c: a * np.exp(-b * x) + c, x, y, p0=np.ones(3))
    least = optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * x) + p[2] - y, np.ones(3), loss="soft_l1")
    return p, covariance, least.x


def roots(np, d):
    def system(v):
        return np.array([v[0] + v[1] ** 2 - 4, np.exp(v[0]) + v[0] * v[1] - 3])

    cost = abs(d.normal(12, 9))
    return (
        optimize.root(system, np.ones(2)).x,
        optimize.brentq(lambda t: float(np.cos(np.array(t)) - t), 0, 1),
        optimize.newton(lambda t: t**3 - 2, np.linspace(1, 2, d.n)), *optimize.linear_sum_assignment(cost),
        optimize.nnls(cost, cost.sum(axis=1))[0],
        optimize.linprog(cost.sum(axis=0), A_ub=-cost, b_ub=-cost[:, 0]).fun,
        optimize.differential_evolution(lambda v: np.sum(v**2), [(-1, 1)] * 3, seed=1, maxiter=5).x,
    )


def solve_ivp(np, d):
    k = np.linspace(1, 2, d.n)

    def heat(t, y):
        dy = np.zeros_like(y)
        dy[1:-1] = y[2:] - 2 * y[1:-1] + y[:-2]
        return k * dy

    y0 = np.sin(np.linspace(0, 3, d.n))
    found = integrate.solve_ivp(heat, (0, 0.5), y0, t_eval=np.linspace(0, 0.5, 4))
    stiff = integrate.solve_ivp(lambda t, y: -50 * (y - np.cos(t)), (0, 1), np.zeros(2), method="BDF")
    old = integrate.odeint(lambda y, t: -y * np.arange(1, 4), np.ones(3), np.linspace(0, 1, 5))
    return found.y, found.t, stiff.y, old


def integrals(np, d):
    x = np.linspace(0, 3, d.n)
    y = np.exp(-x) * np.sin(x)
    return (
        integrate.trapezoid(y, x), integrate.simpson(y, x=x),
        integrate.cumulative_trapezoid(y, x, initial=0),
        integrate.quad(lambda t: np.exp(-np.array(t)), 0, 1), integrate.romb(y[:257]),
        integrate.quad_vec(lambda t: np.arange(3.0) * t, 0, 1)[0],
    )


def filters(np, d):
    x = d.normal(d.n)
    b, a = signal.butter(3, np.array([0.1, 0.3]), btype="band")
    sos = signal.butter(4, 0.2, output="sos")
    return (
        b, a, signal.lfilter(b, a, x), signal.filtfilt(b, a, x), signal.sosfilt(sos, x),
        signal.medfilt(x, 5),
        signal.savgol_filter(x, 11, 3), signal.find_peaks(x, height=1.0)[0],
        signal.detrend(x, type="constant"),
        signal.convolve(x[:500], np.hanning(32), mode="same", method="direct"),
        signal.resample_poly(x, 2, 3),
        signal.hilbert(x[:256]), signal.lfilter(np.ones(3) / 3, 1.0, x.reshape(-1, 20), axis=0),
    )


def spectra(np, d):
    x = d.normal(d.n)
    return (
        *signal.welch(x, fs=100.0, nperseg=128), *signal.spectrogram(x, nperseg=64), fft.rfft(x),
        fft.fft2(x.reshape(-1, 20)),
        fft.irfft(fft.rfft(x[:128])), fft.dct(x, type=2), fft.fftshift(x), fft.next_fast_len(d.n),
        fft.fftfreq(9),
        signal.stft(x, nperseg=64)[2], signal.fftconvolve(x[:300], np.hanning(31)),
        signal.correlate(x[:99], x[:50]),
    )


def images(np, d):
    x = d.normal(d.n).reshape(20, -1)
    spots = np.where(x > 1.5, 1, 0)
    labels, count = ndimage.label(spots)
    return (
        ndimage.gaussian_filter(x, 2.0), ndimage.sobel(x), ndimage.median_filter(x, 3),
        ndimage.uniform_filter(x, 4),
        ndimage.convolve(x, np.ones((3, 3)) / 9, mode="constant"), labels, count,
        ndimage.sum_labels(x, labels, np.arange(1, count + 1)), ndimage.center_of_mass(abs(x)),
        ndimage.binary_dilation(spots), ndimage.distance_transform_edt(1 - spots),
        ndimage.zoom(x[:, :20], 2.0),
        ndimage.map_coordinates(x, np.array([[0.5, 1.5], [2.0, 3.5]]), order=1),
        ndimage.rotate(x[:, :30], 30.0),
        ndimage.gaussian_filter(x, 1.0, output=np.zeros_like(x)),
        ndimage.generic_filter(x[:, :9], np.max, 3),
    )


def interpolation(np, d):
    x = np.sort(d.normal(d.n // 10)) + np.arange(d.n // 10)
    y = np.sin(x)
    at = np.linspace(float(x[0]), float(x[-1]), d.n)
    grid = np.arange(5.0), np.arange(6.0)
    return (
        interpolate.interp1d(x, y, kind="linear")(at), interpolate.CubicSpline(x, y)(at),
        interpolate.PchipInterpolator(x, y)(at),
        interpolate.make_interp_spline(x, y, k=3)(at),
        interpolate.splev(at[:99], interpolate.splrep(x, y, s=0)),
        interpolate.RegularGridInterpolator(grid, np.add.outer(*grid))(np.array([[0.5, 1.5], [2.0, 3.0]])),
        interpolate.griddata(d.normal(60, 2), d.normal(60), np.zeros((3, 2)), method="nearest"),
        interpolate.UnivariateSpline(x[:40], y[:40], s=1.0)(at[:50]), np.interp(at, x, y),
    )


def sparse_matrices(np, d):
    n = 200
    dense = np.where(abs(d.normal(n, n)) > 2, 1.0, 0.0) + np.eye(n) * 4
    a, v = sparse.csr_matrix(dense), d.normal(n)
    rows, columns = d.labels(n, 500), d.labels(n, 500)
    coo = sparse.coo_matrix((np.ones(500), (rows, columns)), shape=(n, n))
    diagonal = sparse.diags_array([np.ones(n), -np.ones(n - 1)], offsets=[0, 1])
    return (
        a @ v, v @ a, a.T @ d.normal(n, 3), a.multiply(v).toarray(), a.toarray(), coo.toarray(),
        coo.tocsr().sum(axis=0),
        a[rows[:9]].toarray(), a[:, columns[:9]].toarray(), diagonal @ v,
        sparse.linalg.spsolve(a.tocsc(), v),
        sparse.linalg.cg(a @ a.T, v, rtol=1e-10)[0],
        sparse.block_diag([np.ones((2, 2)), np.eye(2)]).toarray(),
        (a * 2 + a).data, a.max(), sparse.csr_array((a.data, a.indices, a.indptr)).diagonal(), a.dot(v),
        sparse.kron(np.eye(2), dense[:3, :3]).toarray(), a.dot(np.ones((n, 2))),
        dense @ np.asarray(a.todense()),
        sparse.csgraph.dijkstra(abs(a), indices=0), sparse.csgraph.connected_components(dense),
    )


def neighbours(np, d):
    points, others = d.normal(d.n // 20, 3), d.normal(50, 3)
    tree = spatial.cKDTree(points)
    hull = spatial.ConvexHull(points[:, :2])
    return (
        *tree.query(others, k=3), tree.query_ball_point(others[0], 0.5),
        spatial.distance.cdist(others, points, "cityblock"),
        spatial.distance.pdist(others), spatial.distance.squareform(spatial.distance.pdist(others)),
        spatial.distance.cosine(points[0], points[1]), hull.vertices, hull.volume,
        spatial.Delaunay(others[:, :2]).simplices,
        spatial.transform.Rotation.from_euler("xyz", others[:4]).apply(points[0]),
        spatial.distance.cdist(others, points[:9], lambda u, v: np.max(np.abs(u - v))),
    )


def statistics(np, d):
    x, y, k = d.normal(d.n), d.normal(d.n), d.labels(4, d.n)
    return (
        list(stats.ttest_ind(x, y)), list(stats.pearsonr(x, y)), list(stats.spearmanr(x, y)),
        list(stats.ks_2samp(x, y)),
        stats.zscore(x), stats.skew(x), stats.kurtosis(x), list(stats.mode(k)), stats.describe(x).variance,
        stats.sem(x),
        list(stats.linregress(x, y))[:4], stats.norm.pdf(x), stats.norm.fit(x),
        stats.gaussian_kde(x[:200])(y[:50]),
        stats.rankdata(k), list(stats.chisquare(np.bincount(k))), stats.iqr(x),
        list(stats.mannwhitneyu(x, y)),
        stats.trim_mean(x, 0.1), stats.gmean(abs(x)), list(stats.f_oneway(x[k == 0], x[k == 1])),
        stats.binned_statistic(x, y, bins=np.linspace(-2, 2, 5)).statistic,
        stats.norm.rvs(size=4, random_state=1) + x[:4],
        stats.bootstrap((x[:50],), np.mean, n_resamples=50, random_state=3).standard_error,
        stats.entropy(abs(x)),
        stats.multivariate_normal(np.zeros(2), np.eye(2)).pdf(d.normal(9, 2)),
        stats.wasserstein_distance(x, y),
    )


def matrices(np, d):
    a, b = d.normal(40, 40) + np.eye(40) * 9, d.normal(40)
    symmetric = a @ a.T
    return (
        linalg.solve(a, b), linalg.inv(a), linalg.det(a), linalg.lu(a)[2], linalg.cholesky(symmetric),
        linalg.eigvalsh(symmetric),
        linalg.svdvals(a), linalg.expm(a / 50), linalg.norm(a), linalg.solve_triangular(np.triu(a), b),
        linalg.toeplitz(b[:5]),
        linalg.lstsq(a[:, :5], b)[0], linalg.block_diag(a[:2, :2], b[:3]),
        linalg.solve_banded((1, 1), np.ones((3, 40)), b),
        abs(linalg.qr(a)[1]), linalg.blas.ddot(b, b), linalg.lapack.dpotrf(symmetric)[1],
        linalg.hadamard(4),
    )


def functions(np, d):
    x = abs(d.normal(d.n))
    return (
        special.expit(x), special.erf(x), special.gamma(x), special.logsumexp(x),
        special.softmax(x.reshape(-1, 20), axis=1),
        special.xlogy(x, x), special.jv(0, x), special.comb(np.arange(9), 2),
        special.betainc(2.0, 3.0, x / (1 + x)),
        special.logit(x / (1 + x), out=np.zeros(d.n)), special.entr(x).sum(),
    )


def draws(np, d):
    """Functions that take a generator pass it on to NumPy's `default_rng`, whose C code tells what it is."""
    x = d.normal(40)
    rng = np.random.default_rng(3)

    def cost(v):
        return ((v - 1) ** 2).sum()

    def apart(a, b):
        return np.mean(a) - np.mean(b)

    return (
        stats.bootstrap((x,), np.mean, n_resamples=20, rng=rng).standard_error,
        stats.permutation_test((x, x[::-1] * 0.5), apart, n_resamples=20, rng=rng).pvalue,
        *(sampler(2, rng=rng).random(2) for sampler in (stats.qmc.Halton, stats.qmc.LatinHypercube)),
        optimize.differential_evolution(cost, [(-2, 2)], rng=rng, maxiter=3).x,
        optimize.dual_annealing(cost, [(-2, 2)], rng=rng, maxiter=3).x,
        sparse.random(4, 4, 0.5, rng=rng).toarray(),
        sparse.random_array((4, 4), density=0.5, rng=rng).toarray(),
        cluster.vq.kmeans2(d.normal(40, 2), 2, rng=rng)[1],
        spatial.transform.Rotation.random(2, rng=rng).as_quat(),
        abs(sparse.linalg.svds(sparse.csr_array(np.diag(np.arange(6) + 1.0)), k=1, rng=rng)[1]),
        numpy.random.default_rng(rng).random(3), rng.random(3),
        np.random.seed(2), stats.norm.rvs(size=3, random_state=np.random), np.random.rand(),
    )


EXACT = {
    "minimize": minimize, "solve_ivp": solve_ivp, "integrals": integrals, "filters": filters,
    "images": images, "neighbours": neighbours, "functions": functions, "interpolation": interpolation,
}  # fmt: skip

CLOSE = {
    "curve_fit": curve_fit, "spectra": spectra, "roots": roots, "sparse_matrices": sparse_matrices,
    "statistics": statistics, "matrices": matrices, "draws": draws,
}  # fmt: skip
"""Those that ask the BLAS or LAPACK; and `welch`, which sums otherwise where ``asarray(x) is x``."""


@ways
@table(EXACT)
def test_same_bits(name, jit, n):
    check(EXACT[name], jit, n)


@ways
@table(CLOSE)
def test_close(name, jit, n):
    check(CLOSE[name], jit, n, 1e-9)


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, operator.eq, operator.ne,
    operator.lt, operator.ge,
]  # fmt: skip


@ways
@pytest.mark.parametrize("turned", [False, True], ids=["sparse first", "dense first"])
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_operators_of_sparse_and_dense(op, turned, jit, n):
    """SciPy's methods leave what is none of NumPy's arrays to the other operand: they get one then."""

    def program(np):
        dense = np.where(np.arange(n).reshape(20, -1) % 3 == 0, 2.0, 1.0)[:, :20]
        pair = sparse.csr_array(numpy.eye(20) * 2), dense
        result = op(*(pair[::-1] if turned else pair))
        return [type(result).__name__, result.toarray() if sparse.issparse(result) else numpy.asarray(result)]

    def outcome(np):
        try:
            return program(np)
        except TypeError as error:
            return [str(error)]

    want = outcome(numpy)
    with lazyarr.options(jit=jit):
        same(outcome(lazyarr), want, 0.0)
