import { headers } from './headers.ts'

/** Selected if a client carries headers in subprotocols and the service selects none. */
export const fallbackProtocol = 'portico'

const prefix = `${fallbackProtocol}.`

/** Browsers cannot set headers on a WebSocket. The edge sets the other headers. */
export const credentialNames: ReadonlySet<string> = new Set([
  headers.portalAccessCode.field,
  headers.requestId.field,
  headers.clientHash.field,
  headers.locale.field,
  headers.workspaceId.field,
  'authorization',
])

const pattern = /^portico\.([a-z-]+)\.([\w-]+)$/

/** No line breaks. */
const valuePattern = /^[ -~]+$/

/** A header as a subprotocol of a WebSocket: `portico.<name>.<value in base64url>`. */
export const credentialProtocol = {
  prefix,
  /** The name is in lower case, the value in ASCII. */
  format: (name: string, value: string): string => `${prefix}${name}.${toBase64Url(value)}`,
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
