"""The data sets of the papers: their sizes, and the variant that each paper used."""

from typing import NamedTuple

from sidelight.datasets import _recipes as r
from sidelight.datasets._recipes import Recipe

PAPERS = {
    "sscipa": "SSC-IPA (Gribel, Gendreau & Vidal)",
    "plsi": "PLSI (Liu & Fu)",
    "ssdpgmm": "SS-DPGMM (Echraibi et al.)",
    "sse": "SSE (Zeng et al.)",
    "comac": "CoMaC (Steger, Geiger & Smieja)",
}


class Size(NamedTuple):
    """Rows, columns, classes."""

    n_samples: int
    n_features: int
    n_classes: int


class Variant(NamedTuple):
    """How one paper used a data set; ``size`` is None where it is that of the file."""

    what: str = "as it is"
    recipe: Recipe = r.as_it_is
    size: Size | None = None
    paper: str | None = None


class Entry(NamedTuple):
    """A data set."""

    size: Size
    source: str
    variants: dict[str, Variant]
    # digits is a part of another set's file
    file: str | None = None
    part: Recipe = r.as_it_is
    # the name in scikit-learn, and what makes that copy equal to the file
    bundled: str | None = None
    repair: Recipe = r.as_it_is


def _plain(*papers: str) -> dict[str, Variant]:
    """The papers that use a file as it is."""
    return {paper: Variant(paper=PAPERS[paper]) for paper in papers}


def _variant(
    key: str, what: str, recipe: Recipe, size: tuple[int, int, int] | None = None
) -> dict[str, Variant]:
    """One paper's own version; ``key`` is the paper, perhaps with a suffix."""
    paper = PAPERS.get(key.split("_")[0])
    return {key: Variant(what, recipe, Size(*size) if size else None, paper)}


_TEST_ROWS = r.rows(3823, 5620)
_SCALED = "(x - mean) / (2 * deviation), constant columns dropped"
_UCI = "UCI Machine Learning Repository, "
_CAI = "the 32 x 32 version by D. Cai, for research use"
_TIAN = "the 2100 cells of Tian et al. 2021 (scDCC)"

ENTRIES: dict[str, Entry] = {
    "australian": Entry(Size(690, 14, 2), "LIBSVM australian (UCI Statlog)", _plain("sse")),
    "breast": Entry(
        Size(699, 9, 2),
        _UCI + "Breast Cancer Wisconsin (Original), id column dropped, missing values as NaN",
        _variant("sscipa", "rows without missing values", r.complete_rows, (683, 9, 2))
        | _variant("plsi", "missing values replaced by 0", r.missing_to_zero),
    ),
    "breast_cancer": Entry(
        Size(569, 30, 2),
        _UCI + "Breast Cancer Wisconsin (Diagnostic); comes with scikit-learn",
        {},
        bundled="load_breast_cancer",
    ),
    "breast_libsvm": Entry(
        Size(683, 10, 2),
        "LIBSVM breast-cancer; its first column is the sample id, as in the SSE paper's runs",
        _plain("sse"),
    ),
    "coil20": Entry(Size(1440, 1024, 20), "Columbia COIL-20, " + _CAI, _plain("sse")),
    "diabetes": Entry(Size(145, 5, 3), "Reaven & Miller 1979, R package rrcov", _plain("sscipa")),
    "digits": Entry(
        Size(1797, 64, 10),
        "rows 3823 to 5619 of optdigits.npz; comes with scikit-learn",
        _plain("sse", "ssdpgmm"),
        file="optdigits",
        part=_TEST_ROWS,
        bundled="load_digits",
    ),
    "ecoli": Entry(
        Size(336, 7, 8),
        _UCI + "Ecoli, sequence names dropped",
        _plain("sscipa")
        | _variant("plsi", "without imS and imL", r.without_classes("imS", "imL"), (332, 7, 6))
        | _variant(
            "comac",
            "cp, im, imU, om and pp; 5 principal components",
            r.in_turn(r.only_classes("cp", "im", "imU", "om", "pp"), r.principal_components(5)),
            (327, 5, 5),
        ),
    ),
    "glass": Entry(
        Size(214, 9, 6),
        _UCI + "Glass Identification, id column dropped",
        _plain("plsi", "ssdpgmm", "comac"),
    ),
    "heart": Entry(Size(270, 13, 2), "LIBSVM heart (UCI Statlog)", _plain("sse")),
    "human_kidney": Entry(Size(2100, 2000, 11), "Young et al. 2018, " + _TIAN, _plain("sse")),
    "ionosphere": Entry(
        Size(351, 34, 2),
        _UCI + "Ionosphere",
        _variant("comac", _SCALED, r.over_two_deviations, (351, 33, 2))
        | _variant("comac_scaled", _SCALED, r.over_two_deviations, (351, 33, 2)),
    ),
    "iris": Entry(
        Size(150, 4, 3),
        _UCI + "Iris",
        _plain("sscipa", "plsi", "ssdpgmm", "comac")
        | _variant("comac_scaled", _SCALED, r.over_two_deviations)
        | _variant("sklearn", "Fisher's values, as in scikit-learn", r.iris_as_in_scikit_learn),
        bundled="load_iris",
        repair=r.iris_as_in_uci,
    ),
    "isolet1": Entry(
        Size(1560, 617, 26), _UCI + "ISOLET, the 30 speakers of Isolet1", _plain("sse")
    ),
    "mouse_bladder": Entry(Size(2100, 2001, 16), "Han et al. 2018, " + _TIAN, _plain("sse")),
    "optdigits": Entry(
        Size(5620, 64, 10),
        _UCI + "Optical Recognition of Handwritten Digits, training file then test file",
        _variant("sse", "the test file, rows 3823 to 5619", _TEST_ROWS, (1797, 64, 10))
        | _variant("ssdpgmm", "the test file, rows 3823 to 5619", _TEST_ROWS, (1797, 64, 10))
        | _variant("sse_printed", "all rows: the size that the paper prints", r.as_it_is),
    ),
    "orl": Entry(Size(400, 1024, 40), "AT&T Database of Faces, " + _CAI, _plain("sse")),
    "pbmc_10x": Entry(Size(2100, 2000, 8), "10x Genomics 4k PBMC, " + _TIAN, _plain("sse")),
    "pendigits": Entry(
        Size(10992, 16, 10),
        _UCI + "Pen-Based Recognition of Handwritten Digits, training file then test file",
        _plain("plsi")
        | _variant(
            "sscipa",
            "the digits 3, 8 and 9 of the training file, rows 0 to 7493",
            r.in_turn(r.rows(0, 7494), r.only_classes("3", "8", "9")),
            (2157, 16, 3),
        ),
    ),
    "satimage": Entry(
        Size(4435, 36, 6), _UCI + "Statlog (Landsat Satellite), training file", _plain("plsi")
    ),
    "segmentation": Entry(
        Size(210, 19, 7),
        _UCI + "Image Segmentation, training file",
        _variant(
            "comac",
            "constant columns dropped, standardised (N - 1), 5 principal components",
            r.in_turn(r.standardised, r.principal_components(5)),
            (210, 5, 7),
        ),
    ),
    "thyroid": Entry(Size(215, 5, 3), _UCI + "Thyroid Disease, file new-thyroid", _plain("sscipa")),
    "user": Entry(
        Size(403, 5, 4),
        _UCI + "User Knowledge Modeling, training rows then test rows",
        _plain("comac") | _variant("comac_scaled", _SCALED, r.over_two_deviations),
    ),
    "vertebral": Entry(
        Size(310, 6, 3),
        _UCI + "Vertebral Column, 3 classes, at full precision",
        _plain("sscipa") | _variant("comac", "rounded to 2 decimals", r.two_decimals),
    ),
    "wine": Entry(
        Size(178, 13, 3),
        _UCI + "Wine; comes with scikit-learn",
        _plain("sscipa", "ssdpgmm")
        | _variant("plsi", "last column divided by 1000", r.last_column_over_1000)
        | _variant("comac", _SCALED, r.over_two_deviations)
        | _variant("comac_scaled", _SCALED, r.over_two_deviations)
        | _variant(
            "sse",
            "columns scaled to [-1, 1], then rows 19, 55 and 152 dropped, as in LIBSVM's file",
            r.in_turn(r.from_minus_one_to_one, r.without_rows(19, 55, 152)),
            (175, 13, 3),
        ),
        bundled="load_wine",
    ),
    "worm_neuron": Entry(Size(2100, 2000, 10), "Cao et al. 2017, " + _TIAN, _plain("sse")),
    "yale": Entry(Size(165, 1024, 15), "Yale Face Database, " + _CAI, _plain("sse")),
    "yeast": Entry(Size(1484, 8, 10), _UCI + "Yeast, sequence names dropped", _plain("ssdpgmm")),
}
