"""The shapes of requests and answers, from which OpenAPI and the types of the client are made."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

Class = str | int | float | bool | None


class ProjectShape(BaseModel):
    """A project in a list."""

    id: int
    name: str
    n_rows: int
    created: float
    archived: bool
    n_statements: int
    n_people: int
    expected_error: list[float] | None
    last_run: int | None


class ProjectDetails(ProjectShape):
    """A project with its columns and files."""

    features: list[str]
    show: list[str]
    images: list[str] = Field(description="Columns that are pictures.")
    layout: str
    layout_file: str
    words: dict[str, str]
    notes: list[str]
    role: str
    source: str
    classes: list[Class] = Field(description="Classes named so far; empty for annotators.")
    annotators: list[Class] = Field(description="Who said something; empty for annotators.")


class Column(BaseModel):
    """A column of a table that may be imported."""

    name: str
    type: Literal["text", "number"]
    missing: int


class Problem(BaseModel):
    """A problem of an import in a sentence, and its columns."""

    message: str
    columns: dict[str, list[str]] = {}


class Preview(BaseModel):
    """What a table holds, before anything is written."""

    n_rows: int
    columns: list[Column]
    rows: list[dict[str, Any]]
    problems: list[Problem]
    notes: list[str]
    separator: str | None = Field(default=None, description="Of a text table, as it was read.")
    decimal: str | None = None


class Upload(BaseModel):
    """A table that was sent and not imported yet."""

    upload: str
    name: str
    preview: Preview


class Preparing(BaseModel):
    """How a table becomes rows and numbers."""

    id: str | None = None
    show: list[str] = []
    columns: list[str] = []
    drop: list[str] = []
    images: list[str] = Field(default=[], description="Columns that name or hold pictures.")
    pictures: str | None = Field(default=None, description="Upload with their files.")
    one_hot: list[str] = []
    text: list[str] = []
    impute: Literal["median", "mean"] | None = None
    scale: Literal["standard", "minmax", "none"] | None = None
    sep: Literal[",", ";", "tab", "|"] | None = Field(
        default=None, description="Separator of a text table, if the detection is wrong."
    )
    decimal: Literal[".", ","] | None = Field(default=None, description="Decimal sign, likewise.")


class Pictures(BaseModel):
    """An archive of pictures that was sent."""

    upload: str
    n_files: int


class NewProject(Preparing):
    """A table to import as a project."""

    upload: str
    name: str
    source: str | None = Field(default=None, max_length=300, description="Name of the file.")


class Change(BaseModel):
    """What may change in a project."""

    name: str | None = None
    archived: bool | None = None
    words: dict[str, str] | None = None


class RowShape(BaseModel):
    """A row as people see it."""

    row: int
    id: Class
    cells: dict[str, Class]


class QuestionShape(BaseModel):
    """A question, without any hint at the expected answer."""

    id: str
    kind: Literal["pair", "label"]
    rows: list[RowShape]
    classes: list[Class]
    differs: list[str] = Field(description="Columns in which the two rows differ.")


class AnswerShape(BaseModel):
    """An answer: the question's id, and the sender's own key, so that it may be sent again."""

    question: str
    value: Class
    key: str | None = Field(default=None, max_length=100)
    seconds: float | None = Field(default=None, ge=0, le=86400)
    comment: str | None = Field(default=None, max_length=2000)


class Why(BaseModel):
    """Why a question was asked; shown after the answer."""

    reason: str
    audit: bool


class StoppingShape(BaseModel):
    """Whether more answers are worth the effort."""

    next_ten: float
    share: float
    accuracy: list[float] | None
    n_audit: int
    sentence: str


class Progress(BaseModel):
    """How many answers there are by kind, and how far the asking is."""

    counts: dict[str, int]
    expected_error: list[float] | None = None
    n_clusters: int | None = None
    undecided: int | None = None
    stopping: StoppingShape | None = None
    failed: str | None = None


class Step(BaseModel):
    """One step of a selection: what it chooses, and how that joins what was selected before."""

    op: Literal["add", "subtract", "intersect"] = "add"
    by: Literal[
        "polygon",
        "rows",
        "cluster",
        "confidence",
        "moved",
        "text",
        "class",
        "annotator",
        "unlabelled",
        "all",
    ]
    polygon: list[tuple[float, float]] | None = Field(default=None, max_length=2_000)
    layout: str | None = None
    rows: list[int] | None = Field(default=None, max_length=1_000_000)
    run: int | None = None
    clusters: list[int] | None = None
    below: float | None = None
    runs: list[int] | None = None
    text: str | None = Field(default=None, max_length=200)
    class_: Class = Field(default=None, alias="class")
    annotator: Class = None


Steps = Annotated[list[Step], Field(max_length=200)]


class Selecting(BaseModel):
    """A selection to look at; the clusters of a run are counted in it."""

    steps: Steps
    run: int | None = None


class Share(BaseModel):
    """How many rows of a selection are in a cluster or a class."""

    name: str
    colour: int | None
    n: int


class Trait(BaseModel):
    """How far a selection lies from all rows in a feature, in standard deviations."""

    name: str
    deviations: float


class Selected(BaseModel):
    """A selection: `bits` has one bit for each row, lowest first, in base 64."""

    n: int
    bits: str
    rows: list[RowShape]
    clusters: list[Share]
    classes: list[Share]
    profile: list[Trait]


class NewSelection(BaseModel):
    """A selection to keep under a name."""

    name: str = Field(min_length=1, max_length=200)
    steps: Steps


class NamedSelection(NewSelection):
    """A selection that was kept."""

    event: int


class Saying(BaseModel):
    """A statement about a selection of rows, given as rows or as the steps that choose them."""

    kind: Literal["label", "not_label", "must", "cannot"]
    rows: list[int] = Field(default=[], max_length=1_000_000)
    steps: Steps = []
    class_: Class = Field(default=None, alias="class")
    key: str | None = Field(default=None, max_length=100)
    how: dict[str, Any] | None = None


class Retraction(BaseModel):
    """What to take back: an event, or some of its statements."""

    event: int
    positions: list[int] | None = None
    key: str | None = Field(default=None, max_length=100)


class Renaming(BaseModel):
    """A class and its new name."""

    class_: Class = Field(alias="class")
    to: Class


class EventShape(BaseModel):
    """An event of the log."""

    id: int
    at: float
    kind: str
    parent: int | None
    person: int | None
    body: dict[str, Any]


class Appended(BaseModel):
    """The numbers of events that were appended."""

    events: list[int]


class StatementShape(BaseModel):
    """A statement and what the last run says of it."""

    event: int
    position: int
    kind: str
    i: int
    j: int | None
    ids: list[Class]
    class_: Class = Field(serialization_alias="class", validation_alias="class")
    weight: float
    annotator: Class
    seconds: float | None
    retracted_by: int | None
    kept: bool | None
    error: float | None


class Place(BaseModel):
    """A statement by its place in the log."""

    event: int
    position: int


class AskAgain(Place):
    """A statement to ask about again, of its annotator too or of others only."""

    other: bool = True


class ConflictShape(BaseModel):
    """A statement that contradicts others, and the shortest chain that shows it."""

    sentence: str
    statement: Place
    chain: list[Place]


class NewJob(BaseModel):
    """A job to start."""

    kind: Literal["fit", "layout", "report", "judge", "compare"]
    model: str | None = None
    models: list[str] | None = Field(default=None, min_length=1, max_length=50)
    time_limit: float | None = Field(default=None, ge=1, le=3600, description="Of a comparison.")
    n_clusters: int | None = Field(default=None, ge=1, le=10_000)
    parameters: dict[str, Any] | None = None
    seed: int = Field(default=0, ge=0, lt=2**32)
    method: str | None = None
    run: int | None = None


class JobShape(BaseModel):
    """A job and how far it is."""

    id: int
    kind: str
    state: str
    progress: float
    message: str
    started: float | None
    error: str | None
    run: int | None = Field(description="The run that a report or a judgement is about.")


class RunShape(BaseModel):
    """A finished fit."""

    id: int
    model: str
    parameters: dict[str, Any]
    seed: int | None
    at_event: int
    created: float
    pinned: bool
    labels_file: str
    scores: dict[str, Any]
    versions: dict[str, Any]


class Comparison(BaseModel):
    """Two runs: how many rows went from which cluster to which, and the first that moved."""

    rows: list[str]
    columns: list[str]
    counts: list[list[int]]
    n_moved: int
    moved: list[int]


class ComparedModel(BaseModel):
    """A model by statements held back; ``behind`` is in standard errors of the difference."""

    model: str
    n_clusters: int | None
    score: float | None
    standard_error: float | None
    behind: float | None
    seconds: float
    n_statements: int
    remark: str
    ours: bool = Field(description="Whether it can be fitted here.")


class ModelsCompared(BaseModel):
    """Models beside each other, the best score first; ``choice`` is a place in ``rows``."""

    at_event: int
    n_statements: int
    rows: list[ComparedModel]
    choice: int
    reason: str
    estimate: str
    notes: list[str]


class PersonShape(BaseModel):
    """A person, and what they did in a project."""

    id: int
    name: str
    role: str
    disabled: bool
    n_statements: int
    median_seconds: float | None
    cannot_tell: float
    accuracy: float | None
    accuracy_interval: list[float] | None = Field(description="90 %; of who answered questions.")
    kinds: list[Literal["pair", "label"]] = Field(description="Questions that they get.")


class AgreementShape(BaseModel):
    """Two people: of how many pairs and rows both said something, and how often the same."""

    first: Class
    second: Class
    n: int
    n_same: int


class PeopleShape(BaseModel):
    """The people of a project."""

    people: list[PersonShape]
    agreement: list[AgreementShape]
    second: float = Field(description="Share of questions that a second person gets too.")


class Asking(BaseModel):
    """Who gets which questions: kinds by the number of a person."""

    kinds: dict[str, list[Literal["pair", "label"]]] | None = None
    second: float | None = Field(default=None, ge=0, le=0.5)


class Me(BaseModel):
    """Who is asking."""

    id: int
    name: str
    role: str


class Role(BaseModel):
    """A role for an invitation, or a new role."""

    role: Literal["owner", "editor", "annotator", "viewer"] | None = None
    disabled: bool | None = None


class Invitation(BaseModel):
    """A link that works once."""

    link: str
    expires_in_hours: float
