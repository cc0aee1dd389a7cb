"""Graph models by eigenvectors: constraint propagation, spectral clustering, sparsest cuts."""
