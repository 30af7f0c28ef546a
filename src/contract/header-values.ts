/* Forms of header values. The typed client imports them, but not the table of headers. */

/**
 * Between a gateway and its domain service: the domains whose hooks must run before a command, in a request, and those whose
 * hooks have run, in a response.
 */
export const hooksHeader = 'x-portico-hooks'

/**
 * draft-ietf-httpapi-idempotency-key-header: an RFC 9651 string of 1 to 255 characters. Many clients omit the quotes. Then a
 * comma or a semicolon is refused, because a list or a parameter follows it.
 */
export const idempotencyKeyPattern = '^(?:"(?:[ !#-\\[\\]-~]|\\\\["\\\\]){1,255}"|[!#-+\\--:<-\\[\\]-~]{1,255})$'

const idempotencyKey = new RegExp(idempotencyKeyPattern)

/** Returns the value, which is the same with and without quotes. Undefined if the header is malformed. */
export function parseIdempotencyKey(header: string): string | undefined {
  if (!idempotencyKey.test(header)) return undefined
  return header.startsWith('"') ? header.slice(1, -1).replaceAll(/\\(.)/g, '$1') : header
}

/** Returns the quoted form. The value must be visible ASCII or spaces. */
export function formatIdempotencyKey(value: string): string {
  return `"${value.replaceAll(/["\\]/g, '\\$&')}"`
}

/** Selected if a client carries headers in subprotocols and the service selects none. */
export const fallbackProtocol = 'portico'

const prefix = `${fallbackProtocol}.`

const pattern = /^portico\.([a-z-]+)\.([\w-]+)$/

/** No line breaks. */
const valuePattern = /^[ -~]+$/

/** The name is in lower case, the value in ASCII. */
export function formatCredential(name: string, value: string): string {
  return `${prefix}${name}.${toBase64Url(value)}`
}

/** A header as a subprotocol of a WebSocket: `portico.<name>.<value in base64url>`. */
export const credentialProtocol = {
  prefix,
  format: formatCredential,
  /** Returns the name and value of a header; undefined unless `format` can have returned the subprotocol. */
  parse: (protocol: string): [name: string, value: string] | undefined => {
    const [, name, encoded] = pattern.exec(protocol) ?? []
    if (name === undefined || encoded === undefined || encoded.length % 4 === 1) return undefined
    const value = fromBase64Url(encoded)
    return valuePattern.test(value) && credentialProtocol.format(name, value) === protocol ? [name, value] : undefined
  },
}

function toBase64Url(text: string): string {
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function fromBase64Url(text: string): string {
  return atob(text.replaceAll('-', '+').replaceAll('_', '/'))
}
