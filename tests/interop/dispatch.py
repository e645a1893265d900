"""scikit-learn's estimators and metrics on lazy arrays under `array_api_dispatch`.  A program of its own,
since SciPy asks for ``SCIPY_ARRAY_API`` when it is imported.

Prints a line for each table entry that differs from NumPy's result, or whose result is not lazyarr's.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy
import sklearn
from sklearn import (
    decomposition,
    discriminant_analysis,
    linear_model,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    pipeline,
    preprocessing,
)
from sklearn.metrics import pairwise

import lazyarr
import lazyarr.array_api as xp

PCA, LDA = decomposition.PCA, discriminant_analysis.LinearDiscriminantAnalysis
RIDGE = linear_model.Ridge(0.5, solver="svd")
MIXTURE = mixture.GaussianMixture(2, init_params="random_from_data", random_state=0)
STEPS = pipeline.make_pipeline(preprocessing.StandardScaler(), PCA(4, svd_solver="full"), RIDGE)


def pca(x, y, k, w):
    m = PCA(3, svd_solver="full").fit(x)
    z = m.transform(x)
    return m.explained_variance_ratio_, z, m.inverse_transform(z), m.score_samples(x)


def scaling(x, y, k, w):
    m = preprocessing.StandardScaler().fit(x, sample_weight=w)
    scalers = preprocessing.MinMaxScaler(), preprocessing.MaxAbsScaler(), preprocessing.Normalizer()
    return m.transform(x), m.mean_, *(s.fit_transform(x) for s in scalers)


def mixed(x, y, k, w):
    m = MIXTURE.fit(x)
    return m.means_, m.predict(x), m.score_samples(x)


def split(x, y, k, w):
    return model_selection.train_test_split(x, y, k, random_state=0, stratify=k)


def regression(fn: Any) -> Any:
    return lambda x, y, k, w: (fn(w + 1, w * 1.1 + 1), fn(w + 1, w * 1.1 + 1, sample_weight=w))


def classification(fn: Any) -> Any:
    return lambda x, y, k, w: fn(k, abs(k - 1))


def averaged(fn: Any) -> Any:
    return lambda x, y, k, w: fn(k, abs(k - 1), average="macro")


def kernel(fn: Any) -> Any:
    return lambda x, y, k, w: fn(abs(x[:50, :]), abs(x[50:90, :]))


PROGRAMS = {
    "pca": pca, "scaling": scaling, "mixture": mixed, "split": split,
    "binarizer": lambda x, y, k, w: preprocessing.Binarizer().fit_transform(x),
    "polynomial": lambda x, y, k, w: preprocessing.PolynomialFeatures(2).fit_transform(x),
    "labels": lambda x, y, k, w: preprocessing.LabelEncoder().fit_transform(k),
    "ridge": lambda x, y, k, w: RIDGE.fit(x, y).predict(x),
    "classes by ridge": lambda x, y, k, w: linear_model.RidgeClassifier(solver="svd").fit(x, k).predict(x),
    "logistic": lambda x, y, k, w: linear_model.LogisticRegression().fit(x, k).predict_proba(x),
    "lda": lambda x, y, k, w: LDA().fit(x, k).predict_proba(x),
    "bayes": lambda x, y, k, w: naive_bayes.GaussianNB().fit(x, k).predict_proba(x),
    "cross validation": lambda x, y, k, w: model_selection.cross_val_score(RIDGE, x, y, cv=3),
    "cross prediction": lambda x, y, k, w: model_selection.cross_val_predict(LDA(), x, k, cv=3),
    "grid": lambda x, y, k,
    w: model_selection.GridSearchCV(RIDGE, {"alpha": [0.1, 1]}, cv=3).fit(x, y).best_score_,
    "pipeline": lambda x, y, k, w: STEPS.fit(x, y).predict(x),
    **{fn.__name__: regression(fn) for fn in (
        metrics.r2_score, metrics.mean_squared_error, metrics.mean_absolute_error,
        metrics.explained_variance_score,
        metrics.mean_squared_log_error, metrics.mean_tweedie_deviance, metrics.mean_pinball_loss,
    )},
    **{fn.__name__: classification(fn) for fn in (
        metrics.accuracy_score, metrics.confusion_matrix, metrics.balanced_accuracy_score,
        metrics.hamming_loss,
    )},
    **{fn.__name__: averaged(fn) for fn in (
        metrics.f1_score, metrics.precision_score, metrics.jaccard_score,
    )},
    **{fn.__name__: kernel(fn) for fn in (
        pairwise.cosine_similarity, pairwise.euclidean_distances, pairwise.rbf_kernel,
        pairwise.polynomial_kernel,
        pairwise.laplacian_kernel, pairwise.manhattan_distances, pairwise.chi2_kernel,
    )},
}  # fmt: skip


def differs(name: str, inputs: list[Any], make: Any) -> Exception | None:
    want = PROGRAMS[name](*inputs)
    try:
        with sklearn.config_context(array_api_dispatch=True):
            got = PROGRAMS[name](*map(make, inputs))
        pairs = zip(want, got, strict=True) if isinstance(want, list | tuple) else [(want, got)]
        for theirs, ours in pairs:
            if numpy.ndim(theirs) and not isinstance(ours, xp.asarray(0.0).__class__ | numpy.ndarray):
                raise TypeError(type(ours))
            numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=1e-7, atol=1e-9)
    except Exception as error:
        return error
    return None


def main(n: int) -> None:
    rng = numpy.random.default_rng(0)
    x = rng.normal(size=(n, 8))
    y = x @ numpy.arange(8.0) + 0.1
    inputs = [x, y, (y > 0).astype(int) + (y > 9), abs(y)]
    for name in PROGRAMS:
        for make in (lambda a: lazyarr.array(a) * 1, xp.asarray):
            error = differs(name, inputs, make)
            if error is not None:
                print(name, type(error).__name__, error)
    print(len(PROGRAMS), "programs")


if __name__ == "__main__":
    main(int(sys.argv[1]))
