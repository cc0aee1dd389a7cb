"""What rows look like in one component of a mixture: a distribution and its conjugate prior.

An emission is a class with the methods of `Emission`; one file each, named in `EMISSIONS`. It is
made once per fit, by `of`, with everything that it has to know about the data and the prior. The
mixture never looks into a row, a statistic or a posterior: it hands them from one method to the
next, adds statistics up, and keeps posteriors.
"""

from sidelight.models._emissions._emission import Emission, Posterior, Statistics
from sidelight.models._emissions._gaussian import Gaussian
from sidelight.models._emissions._gaussian_diag import GaussianDiag

EMISSIONS: dict[str, type[Emission]] = {"gaussian": Gaussian, "gaussian_diag": GaussianDiag}

__all__ = ["EMISSIONS", "Emission", "Gaussian", "GaussianDiag", "Posterior", "Statistics"]
