/** A name that nothing else has; also on pages without https, where crypto.randomUUID is missing. */
export function unique(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
