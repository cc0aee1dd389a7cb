"""
Cells of an AnnData object
==========================

Simulated counts of 60 genes in 600 cells of four types. Two types are known for some cells, and an
expert has looked at pairs. `sidelight.bio` works on the AnnData object as scanpy does, and
``uns``, ``obs`` and ``obsm`` keep everything together.
"""

import matplotlib.pyplot as plt
import numpy as np
from anndata import AnnData
from sklearn.decomposition import PCA

from sidelight import BayesianMixture, SideInformation, bio

rng = np.random.default_rng(0)
types = np.repeat(["B cell", "T cell", "NK cell", "monocyte"], 150)
profiles = {name: rng.gamma(0.6, 4.0, size=60) for name in np.unique(types)}
counts = rng.poisson([profiles[name] for name in types])
adata = AnnData(counts.astype(np.float32))
adata.obs_names = [f"cell-{k}" for k in range(adata.n_obs)]

# %%
# With scanpy these two lines are ``sc.pp.normalize_total``, ``sc.pp.log1p`` and ``sc.pp.pca``.

logged = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
adata.obsm["X_pca"] = PCA(5, random_state=0).fit_transform(logged)

# %%
# What is known: types of every tenth B and T cell, and pairs, by the names of the cells. The pairs
# stay in ``uns`` when cells are filtered or the object is written to .h5ad.

known = (np.arange(600) % 10 == 0) & np.isin(types, ["B cell", "T cell"])
adata.obs["known"] = np.where(known, types, None)
expert = SideInformation.from_pairs(
    must=[("cell-301", "cell-355")],
    cannot=[("cell-301", "cell-500"), ("cell-310", "cell-30")],
    index=adata.obs_names,
    annotator="expert",
)
bio.add_statements(adata, expert)

# %%
# One line clusters the cells; unnamed clusters get new names.

model = bio.cluster(
    adata,
    BayesianMixture(n_components=12, random_state=0),
    labels_key="known",
    pairs_key="statements",
)
print(adata.obs["sidelight"].value_counts(sort=False))

# %%

figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
model.result_.plot(adata.obsm["X_pca"], ax=ax).set_title(str(model.result_))
plt.show()
