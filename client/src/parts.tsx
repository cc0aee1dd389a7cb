/** Small parts that several screens use. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Row } from "./api";
import { project } from "./session";
import { cellText } from "./words";
import { changeKey, clashes, keyName, keys, keysOff, resetKeys, switchKeys, WORDS } from "./keys";

export function Key({ of }: { of: string }) {
  return keysOff.value ? null : <kbd aria-hidden="true">{keyName(keys.value[of] ?? of)}</kbd>;
}

/** Shown where there is nothing to show: with a heading if it is the whole page. */
export function Empty({ title, alone, children }: { title: string; alone?: boolean; children?: ComponentChildren }) {
  return (
    <div class="empty">
      {alone ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      {what} …
    </p>
  );
}

export function Problem({ text, onClose }: { text: string | null; onClose?: () => void }) {
  if (!text) return null;
  return (
    <div class="problem" role="alert">
      <span>{text}</span>
      {onClose && (
        <button class="quiet" onClick={onClose}>
          Close
        </button>
      )}
    </div>
  );
}

/** A dialog of the browser: focus stays inside, Escape closes it. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={box} onClose={props.onClose} aria-labelledby="dialog-title">
      <div class="dialog-head">
        <h2 id="dialog-title">{props.title}</h2>
        <button class="quiet" onClick={() => box.current?.close()}>
          Close
        </button>
      </div>
      {props.children}
    </dialog>
  );
}

/** The keys of a screen, to read and to change. */
export function KeyDialog({ actions, onClose }: { actions: string[]; onClose: () => void }) {
  const twice = clashes(keys.value, actions);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <p>Press a key in a field to change it. Digits 1 to 9 choose a class.</p>
      <table>
        <Head of={["Does", "Key"]} />
        <tbody>
          {actions
            .filter((action) => action in WORDS)
            .map((action) => (
              <tr key={action}>
                <td>{WORDS[action]}</td>
                <td>
                  <input
                    class="key"
                    aria-label={`Key for: ${WORDS[action]}`}
                    value={keyName(keys.value[action] ?? "")}
                    onKeyDown={(event) => {
                      if (["Tab", "Shift", "Escape", "Enter"].includes(event.key) || /^[0-9]$/.test(event.key)) return;
                      event.preventDefault();
                      changeKey(action, event.key.length === 1 ? event.key.toLowerCase() : event.key);
                    }}
                    readOnly
                  />
                  {twice.includes(action) && <span class="mark"> used twice</span>}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      <p>
        <label class="check">
          <input type="checkbox" checked={keysOff.value} onChange={(e) => switchKeys(e.currentTarget.checked)} />
          Switch single keys off
        </label>
      </p>
      <button onClick={resetKeys}>Back to the usual keys</button>
    </Dialog>
  );
}

/** The heading of a column: its name, and a class. */
export type Heading = string | { name: string; class?: string; hidden?: boolean };
export const ACTION_COLUMN: Heading = { name: "Actions", hidden: true };
export const numeric = (name: string): Heading => ({ name, class: "number" });

/** The head of a table: one heading per column. */
export function Head({ of }: { of: Heading[] }) {
  return (
    <thead role="rowgroup">
      <tr role="row">
        {of.map((column, k) => {
          const { name, class: kind, hidden } = typeof column === "string" ? { name: column, class: undefined, hidden: false } : column;
          return (
            <th scope="col" role="columnheader" key={k} class={kind} title={name.length > 20 ? name : undefined}>
              {hidden ? <span class="hidden">{name}</span> : <Text>{name}</Text>}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** A column of a list: its heading, and its cell for each entry. */
export type Column<T> = { name: string; cell: (one: T) => ComponentChildren; class?: string; hidden?: boolean };

type TableProps<T> = { label: string; columns: Column<T>[]; list: T[]; keyOf: (one: T) => string | number; rowClass?: (one: T) => string; class?: string };

/**
 * A list as a table; on a narrow screen each entry is a block, its cells under their headings. The
 * roles are written down because some browsers forget them where a table is laid out as blocks.
 */
export function Table<T>({ label, columns, list, keyOf, rowClass, class: kind = "" }: TableProps<T>) {
  const [first, ...rest] = columns as [Column<T>, ...Column<T>[]];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table role="table" class={`stacked ${kind}`}>
        <Head of={columns} />
        <tbody role="rowgroup">
          {list.map((one) => (
            <tr role="row" key={keyOf(one)} class={rowClass?.(one)}>
              <th scope="row" role="rowheader" class={first.class}>
                {first.cell(one)}
              </th>
              {rest.map((column) => (
                <td role="cell" key={column.name} class={column.class} data-name={column.hidden ? undefined : column.name}>
                  {column.cell(one)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Text of unknown direction and length. */
export function Text({ children }: { children: string }) {
  return <bdi dir="auto">{children}</bdi>;
}

const LONG = 80; // characters from which a cell is a text to be read

export const isLong = (value: unknown): boolean => typeof value === "string" && (value.length > LONG || value.includes("\n"));
export const isPicture = (name: string): boolean => project.value?.images.includes(name) ?? false;

/** Where the picture of a row is. */
export function pictureAt(row: number, name: string, small = false): string {
  return `/api/projects/${project.value!.id}/rows/${row}/picture?column=${encodeURIComponent(name)}${small ? "&small=true" : ""}`;
}

/** The picture of a row; its space is reserved before it loads, so that nothing jumps. */
export function Picture({ row, name, small }: { row: Row; name: string; small?: boolean }) {
  const failed = useSignal(false);
  const tiny = useSignal(false);
  const src = pictureAt(row.row, name, small);
  useEffect(() => void (failed.value = false), [src]);
  if (failed.value) return <span class={small ? "picture small muted" : "picture muted"}>No picture ({cellText(row.cells[name])})</span>;
  return (
    <img
      key={src}
      class={`picture ${small ? "small" : ""} ${tiny.value ? "tiny" : ""}`}
      src={src}
      alt={`${name} of ${String(row.id)}`}
      loading={small ? "lazy" : "eager"}
      onLoad={(event) => (tiny.value = event.currentTarget.naturalWidth < 64)}
      onError={() => (failed.value = true)}
    />
  );
}

/** A cell: a picture, a text to be read, or a few characters. */
export function Cell({ row, name, small }: { row: Row; name: string; small?: boolean }) {
  const value = row.cells[name];
  if (isPicture(name)) return <Picture row={row} name={name} small={small} />;
  if (small) return <Text>{cellText(value).slice(0, LONG)}</Text>;
  if (!isLong(value)) return <Text>{cellText(value)}</Text>;
  return (
    <div class="prose long-text" dir="auto" tabIndex={0} role="group" aria-label={`${name} of ${String(row.id)}`}>
      {String(value)}
    </div>
  );
}
