/** Requests to the server: typed by its OpenAPI document, errors as sentences. */
import { signal } from "@preact/signals";
import type { components } from "./schema";
import { capital } from "./words";

export type Schema = components["schemas"];
export type Project = Schema["ProjectShape"];
export type Details = Schema["ProjectDetails"];
export type Question = Schema["QuestionShape"];
export type Answer = Schema["AnswerShape"];
export type Row = Schema["RowShape"];
export type Run = Schema["RunShape"];
export type Job = Schema["JobShape"];
export type Statement = Schema["StatementShape"];
export type Step = Schema["Step"];
export type Cell = string | number | boolean | null;

/** The server refuses, with a reason. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The server cannot be reached. */
export class LineDown extends Error {
  constructor() {
    super("The server cannot be reached. What you type is kept and sent when it is back.");
  }
}

/** Whether the last request reached the server. */
export const online = signal(true);

type Options = { method?: string; body?: unknown; raw?: BodyInit; signal?: AbortSignal };

async function request(path: string, options: Options = {}): Promise<Response> {
  const { method = "GET", body, raw } = options;
  const headers: Record<string, string> = method === "GET" ? {} : { "x-sidelight": "1" };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(`/api/${path}`, {
      method,
      headers,
      body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
      signal: options.signal,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    online.value = false;
    throw new LineDown();
  }
  online.value = true;
  if (!response.ok) throw new Refusal(response.status, await sentenceOf(response));
  return response;
}

async function sentenceOf(response: Response): Promise<string> {
  try {
    return inWords((await response.json()).detail);
  } catch {
    return `The server answered ${response.status}.`;
  }
}

/** An error of the server, as a sentence. */
export function inWords(detail: unknown): string {
  if (Array.isArray(detail)) {
    return detail.map((one) => `${one.loc?.slice(1).join(" ") ?? ""}: ${one.msg}`).join("; ");
  }
  return capital(String(detail));
}

export async function get<T>(path: string, options?: Options): Promise<T> {
  return (await request(path, options)).json();
}

export async function send<T>(method: string, path: string, body: unknown = {}): Promise<T> {
  const response = await request(path, { method, body });
  return response.status === 204 ? (undefined as T) : response.json();
}

export const post = <T>(path: string, body?: unknown) => send<T>("POST", path, body);

export async function bytes(path: string): Promise<ArrayBuffer> {
  return (await request(path)).arrayBuffer();
}

/** Send a file as the body of a request. */
export async function upload<T>(path: string, file: Blob): Promise<T> {
  return (await request(path, { method: "POST", raw: file })).json();
}
