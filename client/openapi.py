"""Write the OpenAPI document of the workbench beside this file; the client's types come from it."""

import json
import tempfile
from pathlib import Path

from sidelight.web import Settings, create_app

with tempfile.TemporaryDirectory() as folder:
    app = create_app(Settings(folder, workers=0))
    document = app.openapi()
    app.state.bench.stop()
Path(__file__).with_name("openapi.json").write_text(json.dumps(document), encoding="utf-8")
