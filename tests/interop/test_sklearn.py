"""scikit-learn on lazy arrays: NumPy's results."""

from __future__ import annotations

import pytest
from programs import MISSING, check, table, ways

pytest.importorskip("sklearn", reason=MISSING)

import threadpoolctl
from sklearn import (
    cluster,
    compose,
    cross_decomposition,
    decomposition,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    manifold,
    metrics,
    mixture,
    model_selection,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
    utils,
)  # fmt: skip


def samples(np, d, rows=300):
    """Features, a target and classes, all of them pending."""
    x = d.normal(rows, 8)
    y = x @ np.arange(8.0) + 0.1 * d.normal(rows)
    return x, y, (y > 0).astype(int) + (y > 9)


def preparation(np, d):
    x, y, k = samples(np, d, d.n // 20)
    holes = np.where(x > 2, np.nan, x)
    return (
        preprocessing.StandardScaler().fit_transform(x), preprocessing.MinMaxScaler().fit_transform(x),
        preprocessing.RobustScaler().fit_transform(x), preprocessing.normalize(x),
        preprocessing.PolynomialFeatures(2).fit_transform(x),
        preprocessing.OneHotEncoder().fit_transform(k[:, None]).toarray(),
        preprocessing.LabelEncoder().fit_transform(k),
        preprocessing.label_binarize(k, classes=[0, 1, 2]),
        preprocessing.KBinsDiscretizer(3, encode="ordinal").fit_transform(x),
        preprocessing.PowerTransformer().fit_transform(x),
        preprocessing.QuantileTransformer(n_quantiles=20).fit_transform(x),
        preprocessing.FunctionTransformer(np.log1p).fit_transform(abs(x)),
        impute.SimpleImputer().fit_transform(holes),
        impute.KNNImputer(n_neighbors=2).fit_transform(holes[:60]),
        feature_selection.SelectKBest(feature_selection.f_regression, k=3).fit_transform(x, y),
        feature_selection.VarianceThreshold(0.9).fit(x).variances_,
        feature_selection.mutual_info_classif(x[:99], k[:99], random_state=0),
    )


def reduction(np, d):
    x, y, _ = samples(np, d)
    pca = decomposition.PCA(3).fit(x)
    return (
        pca.explained_variance_ratio_, pca.inverse_transform(pca.transform(x)),
        decomposition.TruncatedSVD(2, random_state=0).fit_transform(x),
        decomposition.NMF(2, random_state=0, max_iter=50, tol=1e-2).fit_transform(abs(x)),
        decomposition.FastICA(2, random_state=0).fit_transform(x),
        cross_decomposition.PLSRegression(2).fit(x, y).predict(x),
        decomposition.IncrementalPCA(2).fit(x).mean_,
        decomposition.KernelPCA(2, kernel="rbf").fit(x).eigenvalues_,
        manifold.Isomap(n_components=2).fit(x[:99]).reconstruction_error(),
    )


def clusters(np, d):
    x, _, _ = samples(np, d)
    means = cluster.KMeans(3, random_state=0, n_init=2).fit(x)
    mixed = mixture.GaussianMixture(2, random_state=0).fit(x)
    return (
        means.labels_, means.cluster_centers_, means.predict(x[:9]), means.transform(x[:9]), mixed.means_,
        mixed.predict_proba(x),
        mixed.score(x), cluster.DBSCAN(2.0).fit_predict(x),
        cluster.AgglomerativeClustering(3).fit_predict(x),
        cluster.MiniBatchKMeans(2, random_state=0, n_init=1).fit(x).inertia_,
        cluster.SpectralClustering(2, random_state=0).fit_predict(x[:80]),
        cluster.MeanShift(bandwidth=4.0).fit(x[:80]).cluster_centers_, mixed.sample(3)[0].shape,
    )


def regression(np, d):
    x, y, _ = samples(np, d)
    plain = linear_model.LinearRegression().fit(x, y)
    weighted = linear_model.LinearRegression().fit(x, y, sample_weight=abs(y))
    ridge = linear_model.RidgeCV(np.array([0.1, 1.0])).fit(x, y)
    gaussian = gaussian_process.GaussianProcessRegressor(alpha=0.1, optimizer=None)
    network = neural_network.MLPRegressor(hidden_layer_sizes=(5,), random_state=0, tol=1e9)
    return (
        plain.coef_, plain.intercept_, plain.predict(x), plain.score(x, y), plain.predict(x) - y,
        weighted.coef_, ridge.alpha_,
        ridge.predict(x), linear_model.Ridge(0.5).fit(x, y).coef_, linear_model.Lasso(0.1).fit(x, y).coef_,
        linear_model.ElasticNet(0.1).fit(x, y).predict(x), linear_model.HuberRegressor().fit(x, y).coef_,
        linear_model.BayesianRidge().fit(x, y).coef_,
        linear_model.SGDRegressor(random_state=0).fit(x, y).coef_,
        svm.SVR().fit(x, y).predict(x), neighbors.KNeighborsRegressor().fit(x, y).predict(x),
        gaussian.fit(x[:50], y[:50]).predict(x[50:60]), network.fit(x / 9, y / 99).predict(x),
    )


def classification(np, d):
    x, _, k = samples(np, d)
    logistic = linear_model.LogisticRegression().fit(x, k)
    return (
        logistic.coef_, logistic.predict_proba(x), logistic.predict(x), logistic.score(x, k),
        svm.SVC(random_state=0).fit(x, k).predict(x),
        svm.LinearSVC(random_state=0).fit(x, k).predict(x),
        neighbors.KNeighborsClassifier().fit(x, k).predict(x),
        naive_bayes.GaussianNB().fit(x, k).predict_proba(x),
        linear_model.SGDClassifier(random_state=0).fit(x, k).predict(x),
        linear_model.Perceptron(random_state=0).partial_fit(x, k, classes=np.unique(k)).predict(x),
    )


def trees(np, d):
    x, y, k = samples(np, d)
    forest = ensemble.RandomForestClassifier(10, random_state=0).fit(x, k)
    return (
        forest.predict(x), forest.feature_importances_,
        ensemble.RandomForestRegressor(5, random_state=0).fit(x, y).predict(x),
        tree.DecisionTreeClassifier(max_depth=3).fit(x, k, sample_weight=abs(y)).predict(x),
        ensemble.AdaBoostClassifier(n_estimators=3).fit(x, k).score(x, k),
        ensemble.GradientBoostingRegressor(n_estimators=5, random_state=0).fit(x, y).predict(x),
        ensemble.IsolationForest(n_estimators=5, random_state=0).fit_predict(x),
        ensemble.HistGradientBoostingClassifier(max_iter=3).fit(x, k).predict(x),
        ensemble.ExtraTreesClassifier(5, random_state=0).fit(x, k).predict(x),
        ensemble.VotingClassifier([("a", forest), ("b", naive_bayes.GaussianNB())]).fit(x, k).predict(x),
    )


def selection(np, d):
    x, y, k = samples(np, d)
    split = model_selection.train_test_split(x, y, k, test_size=0.25, random_state=0, stratify=k)
    scale, squeeze = preprocessing.StandardScaler(), preprocessing.MinMaxScaler()
    steps = pipeline.make_pipeline(scale, decomposition.PCA(4), linear_model.LogisticRegression())
    grid = model_selection.GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=3).fit(x, y)
    columns = compose.ColumnTransformer([("s", scale, [0, 1]), ("m", squeeze, slice(2, 5))])
    return (
        split, steps.fit(split[0], split[4]).score(split[1], split[5]),
        model_selection.cross_val_score(steps, x, k, cv=3),
        model_selection.cross_val_predict(linear_model.LinearRegression(), x, y, cv=model_selection.KFold(4)),
        grid.best_params_["alpha"],
        grid.cv_results_["mean_test_score"], columns.fit_transform(x),
        model_selection.learning_curve(naive_bayes.GaussianNB(), x, k, cv=3)[2],
        list(model_selection.StratifiedKFold(3).split(x, k)),
        list(model_selection.GroupKFold(3).split(x, y, groups=k)),
        [x[train].sum(axis=0) for train, _ in model_selection.TimeSeriesSplit(3).split(x)],
    )


def measures(np, d):
    x, y, k = samples(np, d)
    guess, score = k[::-1], abs(y) / abs(y).max()
    return (
        metrics.r2_score(y, y * 1.1), metrics.mean_squared_error(y, y + 1),
        metrics.mean_absolute_error(y, y * 2, sample_weight=score),
        metrics.accuracy_score(k, guess), metrics.confusion_matrix(k, guess),
        metrics.f1_score(k, guess, average="macro"),
        metrics.precision_recall_fscore_support(k, guess), metrics.roc_auc_score(k > 0, score),
        metrics.roc_curve(k > 0, score),
        metrics.log_loss(k > 0, score), metrics.silhouette_score(x, k),
        metrics.adjusted_rand_score(k, guess),
        metrics.pairwise.rbf_kernel(x), metrics.pairwise.cosine_similarity(x, x[:9]),
        metrics.pairwise_distances(x, metric="manhattan"),
        metrics.pairwise.euclidean_distances(x, x[:9]), metrics.pairwise_distances_argmin(x, x[:5]),
        metrics.explained_variance_score(y, y * 2),
        metrics.pairwise_distances(x[:9], metric=lambda u, v: float(np.abs(u - v).max())),
        metrics.classification_report(k, guess),
        metrics.matthews_corrcoef(k, guess), metrics.calinski_harabasz_score(x, k),
        metrics.brier_score_loss(k > 0, score),
        metrics.make_scorer(lambda t, p: np.mean(np.abs(t - p)))(linear_model.Ridge().fit(x, y), x, y),
        metrics.auc(np.arange(3.0), np.arange(3.0)),
    )


def random_states(np, d):
    """The module is the state of its functions, for those who know NumPy's by identity."""
    x, y, _ = samples(np, d)
    np.random.seed(4)
    states = np.random, np.random.RandomState(1), None, 3
    return (
        [utils.check_random_state(state).uniform(size=2) for state in states],
        utils.check_random_state(np.random).permutation(y), np.random.rand(),
        utils.shuffle(x, y, random_state=1),
    )


EXACT = {"preparation": preparation, "trees": trees, "random_states": random_states}

CLOSE = {
    "reduction": reduction, "clusters": clusters, "regression": regression,
    "classification": classification,
    "selection": selection, "measures": measures,
}  # fmt: skip
"""Those that ask the BLAS."""


@pytest.fixture(autouse=True)
def one_thread():
    """OpenMP's and the BLAS's threads would wait for each other longer than they compute."""
    with threadpoolctl.threadpool_limits(1):
        yield


@ways
@table(EXACT)
def test_same_bits(name, jit, n):
    check(EXACT[name], jit, n)


@ways
@table(CLOSE)
def test_close(name, jit, n):
    check(CLOSE[name], jit, n, 1e-6)
