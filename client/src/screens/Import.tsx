/** From a file to a project: what is in it, what each column is for, and problems. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { post, type Project, type Schema, upload } from "../api";
import { type Column, Empty, Problem, Table, Text } from "../parts";
import { go } from "../router";
import { attempt, mayEdit } from "../session";
import { capital, cellText, count, plural } from "../words";

type Upload = Schema["Upload"];
type Preview = Schema["Preview"];
export type Purpose = "feature" | "one_hot" | "text" | "id" | "show" | "image" | "ignore";

const PURPOSES: [Purpose, string][] = [
  ["feature", "a feature (number)"],
  ["one_hot", "a feature (categories)"],
  ["text", "a feature (text)"],
  ["id", "the row's id"],
  ["show", "to show, not to count"],
  ["image", "a picture to show"],
  ["ignore", "nothing"],
];

const NUMBER = /^[-+]?\d+([.,]\d+)?(e[-+]?\d+)?$/i;
const PICTURE = /^data:image\/|\.(png|jpe?g|gif|webp|bmp|tiff?)$/i;

/** What each column is most probably for. */
export function guess(preview: Preview): Record<string, Purpose> {
  const found: Record<string, Purpose> = {};
  let hasId = false;
  preview.columns.forEach((column, k) => {
    const values = preview.rows.map((row) => String(row[column.name]));
    const isDistinct = new Set(values).size === values.length && column.missing === 0;
    const isNamed = /^(id|name|key|code|row|no\.?|nr\.?)$/i.test(column.name) || /[_ ]id$/i.test(column.name);
    const isPicture = column.type === "text" && values.length > 0 && values.every((text) => PICTURE.test(text));
    // A text among numbers is mostly a typing error, so the column stays numeric and the row is named.
    const isNumeric = column.type !== "text" || values.filter((text) => NUMBER.test(text.trim())).length > values.length / 2;
    if (isPicture) found[column.name] = "image";
    else if (!hasId && isDistinct && (isNamed || (!isNumeric && k === 0))) {
      found[column.name] = "id";
      hasId = true;
    } else found[column.name] = isNumeric ? "feature" : "show";
  });
  return found;
}

export type Reading = Pick<Schema["Preparing"], "sep" | "decimal" | "pictures">;
const SIGNS: Record<string, string> = { ",": "comma", ";": "semicolon", "\t": "tab", tab: "tab", "|": "vertical bar", ".": "point" };

/** The choices that are sent to the server. */
export function preparing(purposes: Record<string, Purpose>, scale: string, impute: string, reading: Reading = {}): Schema["Preparing"] {
  const of = (...wanted: Purpose[]) => Object.keys(purposes).filter((name) => wanted.includes(purposes[name]!));
  const ignored = of("ignore");
  return {
    id: of("id")[0] ?? null,
    show: ignored.length ? of("feature", "one_hot", "text", "show", "image") : [],
    columns: [],
    drop: of("show", "ignore", "image"),
    images: of("image"),
    one_hot: of("one_hot"),
    text: of("text"),
    scale: (scale || null) as "standard" | null,
    impute: (impute || null) as "median" | null,
    ...reading,
  };
}

export function Import() {
  const sent = useSignal<Upload | null>(null);
  const sending = useSignal(false);
  if (!mayEdit()) {
    return (
      <Empty alone title="Import is not for your role">
        <p>Editors and owners can import tables.</p>
      </Empty>
    );
  }
  const take = async (file: File | undefined) => {
    if (!file) return;
    sending.value = true;
    sent.value = null; // nothing of an earlier file stays
    await attempt(async () => {
      sent.value = await upload<Upload>(`uploads?name=${encodeURIComponent(file.name)}`, file);
    });
    sending.value = false;
  };
  return (
    <div class="page">
      <div class="head">
        <h1>New project</h1>
      </div>
      <div class="panel">
        <label class="field">
          Table
          <input
            type="file"
            accept=".csv,.tsv,.txt,.xlsx,.parquet,.npy,.npz,.h5ad"
            onChange={(event) => void take(event.currentTarget.files?.[0])}
          />
        </label>
        <p class="muted">CSV or TSV with any separator and decimal sign, Excel, Parquet, .npy, .npz or .h5ad. Nothing is written before you say so.</p>
        {sending.value && <p role="status">Sending and reading …</p>}
      </div>
      {sent.value && <Choices key={sent.value.upload} sent={sent.value} />}
    </div>
  );
}

function Choices({ sent }: { sent: Upload }) {
  const purposes = useSignal(guess(sent.preview));
  const name = useSignal(sent.name.replace(/\.[^.]*$/, ""));
  const scale = useSignal("");
  const impute = useSignal("");
  const preview = useSignal<Preview>(sent.preview);
  const checking = useSignal(true);
  const importing = useSignal(false);

  const reading = useSignal<Reading>({ sep: null, decimal: null });

  const body = preparing(purposes.value, scale.value, impute.value, reading.value);
  const words = JSON.stringify(body);
  useEffect(() => {
    let stale = false;
    checking.value = true;
    void attempt(async () => {
      const found = await post<Preview>(`uploads/${sent.upload}/preview`, body);
      if (!stale) preview.value = found;
    }).then(() => !stale && (checking.value = false));
    return () => {
      stale = true;
    };
  }, [words]);
  // Another separator gives other columns, so their purposes are guessed again.
  const readAgain = (change: Reading) =>
    void attempt(async () => {
      const next = { ...reading.value, ...change };
      const found = await post<Preview>(`uploads/${sent.upload}/preview`, next);
      reading.value = next;
      purposes.value = guess(found);
      preview.value = found;
    });
  const start = async (event: Event) => {
    event.preventDefault();
    importing.value = true;
    const made = await attempt(() => post<Project>("projects", { ...body, upload: sent.upload, name: name.value, source: sent.name }));
    importing.value = false;
    if (made) go(`/p/${made.id}/queue`);
  };
  const { problems, notes } = preview.value;
  return (
    <form onSubmit={start}>
      <div class="panel">
        <h2>
          {count(preview.value.n_rows)} rows, {plural(preview.value.columns.length, "column")}
        </h2>
        {preview.value.columns.length > 0 && <Columns preview={preview.value} purposes={purposes} />}
        {body.images!.length > 0 && <Archive sent={(key) => (reading.value = { ...reading.value, pictures: key })} />}
        {/\.(csv|tsv)$/.test(sent.upload) && <Signs preview={preview.value} reading={reading.value} change={readAgain} />}
      </div>
      <div class="panel grid-form">
        <label class="field">
          Name of the project
          <input required maxLength={200} value={name.value} onInput={(e) => (name.value = e.currentTarget.value)} />
        </label>
        <label class="field">
          Scaling
          <select value={scale.value} onChange={(e) => (scale.value = e.currentTarget.value)}>
            <option value="">as usual (standard)</option>
            <option value="standard">mean 0, deviation 1</option>
            <option value="minmax">from 0 to 1</option>
            <option value="none">none</option>
          </select>
        </label>
        <label class="field">
          Missing values
          <select value={impute.value} onChange={(e) => (impute.value = e.currentTarget.value)}>
            <option value="">are a problem</option>
            <option value="median">become the median</option>
            <option value="mean">become the mean</option>
          </select>
        </label>
      </div>
      <div class="panel" aria-live="polite">
        {problems.map((one, k) => (
          <Problem key={k} text={capital(one.message)} />
        ))}
        {notes.length > 0 && (
          <div class="note">
            <ul>
              {notes.map((note) => (
                <li key={note}>{capital(note)}</li>
              ))}
            </ul>
          </div>
        )}
        {!problems.length && !checking.value && <p>No problems were found.</p>}
        {checking.value && <p class="muted">Looking at the table …</p>}
        <button class="main" type="submit" disabled={importing.value || problems.length > 0}>
          {importing.value ? "Importing …" : "Import"}
        </button>
      </div>
    </form>
  );
}

/** The files that a column of pictures names, as one archive. */
function Archive({ sent }: { sent: (key: string) => void }) {
  const n = useSignal<number | null>(null);
  const take = (file: File | undefined) =>
    file &&
    void attempt(async () => {
      const found = await upload<Schema["Pictures"]>("uploads/pictures", file);
      n.value = found.n_files;
      sent(found.upload);
    });
  return (
    <p class="row">
      <label>
        Pictures, as one zip archive <input type="file" accept=".zip" onChange={(event) => take(event.currentTarget.files?.[0])} />
      </label>
      <span class="muted" role="status">
        {n.value === null ? "Not needed if the files are below the server's data folder, or in the table itself." : plural(n.value, "file") + " in it."}
      </span>
    </p>
  );
}

/** How a text table is written: detected, or chosen by the user. */
function Signs({ preview, reading, change }: { preview: Preview; reading: Reading; change: (to: Reading) => void }) {
  const found = (sign: string | null | undefined) => (sign ? `found: ${SIGNS[sign] ?? sign}` : "found by looking");
  return (
    <p class="row">
      <label>
        Separator{" "}
        <select value={reading.sep ?? ""} onChange={(e) => change({ sep: (e.currentTarget.value || null) as Reading["sep"] })}>
          <option value="">{reading.sep ? "find it" : found(preview.separator)}</option>
          {[",", ";", "tab", "|"].map((sign) => (
            <option key={sign} value={sign}>
              {SIGNS[sign]}
            </option>
          ))}
        </select>
      </label>
      <label>
        Decimal sign{" "}
        <select value={reading.decimal ?? ""} onChange={(e) => change({ decimal: (e.currentTarget.value || null) as Reading["decimal"] })}>
          <option value="">{reading.decimal ? "find it" : found(preview.decimal)}</option>
          {[".", ","].map((sign) => (
            <option key={sign} value={sign}>
              {SIGNS[sign]}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}

function Columns({ preview, purposes }: { preview: Preview; purposes: Signal<Record<string, Purpose>> }) {
  const set = (name: string, to: Purpose) => {
    const next = { ...purposes.value };
    if (to === "id") for (const other of Object.keys(next)) if (next[other] === "id") next[other] = "ignore";
    next[name] = to;
    purposes.value = next;
  };
  const columns: Column<Preview["columns"][number]>[] = [
    { name: "Column", cell: (column) => <Text>{column.name}</Text> },
    {
      name: "Is for",
      cell: (column) => (
        <select
          aria-label={`What ${column.name} is for`}
          value={purposes.value[column.name]}
          onChange={(event) => set(column.name, event.currentTarget.value as Purpose)}
        >
          {PURPOSES.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      ),
    },
    {
      name: "Holds",
      cell: (column) => (
        <>
          {column.type === "text" ? "texts" : "numbers"}
          {column.missing > 0 && <span class="mark">, {count(column.missing)} missing</span>}
        </>
      ),
    },
    {
      name: "First rows",
      class: "wide",
      cell: (column) => (
        <Text>
          {preview.rows
            .slice(0, 4)
            .map((row) => cellText(row[column.name]).replace(/^(data:image\/[a-z]+).*/s, "$1").slice(0, 40))
            .join(", ")}
        </Text>
      ),
    },
  ];
  return <Table label="Columns" class="columns-table" columns={columns} list={preview.columns} keyOf={(column) => column.name} />;
}
