// The page stays small: scripts and styles under 150 kB compressed.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT = 150_000;
const root = new URL("../src/sidelight/web/static/client", import.meta.url).pathname;

function files(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

const total = files(root).reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
console.log(`the page has ${total.toLocaleString("en")} bytes compressed; the limit is ${LIMIT.toLocaleString("en")}`);
if (total > LIMIT) process.exit(1);
