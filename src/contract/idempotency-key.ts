/*
 * Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): an RFC 9651 string, such as `"8e03978e"`. Many clients omit
 * the quotes, so both forms of a value are the same key.
 */

/** 1 to 255 characters. Without quotes, commas and semicolons are refused, because a list or a parameter follows them. */
export const idempotencyKeyPattern = '^(?:"(?:[ !#-\\[\\]-~]|\\\\["\\\\]){1,255}"|[!#-+\\--:<-\\[\\]-~]{1,255})$'

const form = new RegExp(idempotencyKeyPattern)

/** Returns the value; undefined if the header is malformed. */
export function parseIdempotencyKey(header: string): string | undefined {
  if (!form.test(header)) return undefined
  return header.startsWith('"') ? header.slice(1, -1).replaceAll(/\\(.)/g, '$1') : header
}

/** Returns the quoted form. The value must be visible ASCII or spaces. */
export function formatIdempotencyKey(value: string): string {
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}
