"""Settings of a server of the workbench."""

import os
from dataclasses import dataclass, field
from pathlib import Path

MB = 1024 * 1024


@dataclass(frozen=True)
class Settings:
    """Folder of the data, who may reach the server, and limits of a fit.

    Parameters
    ----------
    data_root : path
        The folder of the store, of bulk data and of uploads; nothing outside it is read or written.
    store : str, optional
        A file or the URL of a database; by default a file in ``data_root``.
    hosts : tuple of str
        The values of the header ``Host`` that are answered, without port.
    workers : int
        How many processes fit models; 0 for none, as in tests.
    dask : str, optional
        The address of a Dask scheduler that runs the fits instead of these processes.
    max_upload : int
        Largest size of an uploaded table in bytes.
    max_body : int
        Bytes of any other request.
    max_seconds : float
        Time limit of one job.
    max_memory : int
        Memory limit of one worker process, in bytes.
    refit_after : int
        The number of answers after which the model is fitted again automatically.
    refit_seconds : float
        After how many seconds it is, if there are fewer answers.

    Examples
    --------
    >>> import tempfile
    >>> Settings(tempfile.mkdtemp()).hosts
    ('127.0.0.1', 'localhost', '[::1]')
    """

    data_root: str | Path
    store: str | None = None
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    workers: int = field(default_factory=lambda: max(1, (os.cpu_count() or 2) - 1))
    dask: str | None = None
    max_upload: int = 2_000 * MB
    max_body: int = 16 * MB
    max_seconds: float = 3_600.0
    max_memory: int = 16_000 * MB
    refit_after: int = 10
    refit_seconds: float = 30.0

    @property
    def root(self) -> Path:
        """The folder, as a path."""
        return Path(self.data_root)

    @property
    def store_address(self) -> str:
        """The file or URL of the store."""
        return self.store or str(self.root / "workbench.db")
