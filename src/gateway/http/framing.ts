import type { IncomingMessage } from 'node:http'

/** A host name or address with an optional port (RFC 9110, 7.2), stricter than the grammar of a URI. */
const hostPattern = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

const isRepeated = (rawHeaders: readonly string[], name: string): boolean => {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const each = rawHeaders[index]
    // Comparing lengths first is cheaper: most names differ in length.
    if (each?.length === name.length && each.toLowerCase() === name) count += 1
  }
  return count > 1
}

/**
 * Returns the status and reason for a request head that Node accepts and we do not (RFC 9112, 2.3, 3.2 and 6), or
 * undefined for a valid one. Two parsers that disagree about a request allow request smuggling.
 */
export function findFramingError(
  request: IncomingMessage,
  maxHeaders: number,
): [status: number, reason: string] | undefined {
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') return [505, 'HTTP version']
  if (request.rawHeaders.length / 2 > maxHeaders) return [431, 'number of headers']
  const { host } = request.headers
  if (host === undefined ? request.httpVersion === '1.1' : !hostPattern.test(host)) return [400, 'Host']
  if (isRepeated(request.rawHeaders, 'host')) return [400, 'two Hosts']
  const coding = request.headers['transfer-encoding']
  // HTTP/1.0 has no chunked encoding: an HTTP/1.0 proxy in front of us has seen a different end of this body.
  if (coding !== undefined && (request.httpVersion === '1.0' || coding.toLowerCase() !== 'chunked'))
    return [400, 'Transfer-Encoding']
  const length = request.headers['content-length']
  if (coding !== undefined && length !== undefined) return [400, 'Transfer-Encoding beside Content-Length']
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return [400, 'Content-Length']
  return request.url?.startsWith('/') ? undefined : [400, 'request target']
}
