import { pipeline, Readable, Transform } from 'node:stream'
import type { Call } from '../../gateway/pipeline/call.ts'
import { Refusal } from '../../kernel/index.ts'
import type { ProxyRequestHead } from '../upstream/proxy.ts'
import { buildHeaders, buildPath, conditionalHeaders, jsonBody, jsonHeaders } from '../upstream/request.ts'

const methodsWithBody = new Set(['POST', 'PUT', 'PATCH'])

const maxForwardedLength = 1_024

export interface StreamedRequest {
  head: ProxyRequestHead
  source: Readable | null
}

/** Below a prefix, method, path and query are the client's. */
export function buildRawRequest(
  call: Call,
  assertion: string,
  { basePath, maxBytes }: { basePath: string; maxBytes: number },
): StreamedRequest {
  const { below, operation, upload } = call
  const method = below ? call.method : operation.method
  const conditions = conditionalHeaders(call)
  if (below) delete conditions['x-client-method']
  const json = jsonBody(call)
  const headers = {
    ...buildHeaders(call, assertion),
    accept: '*/*',
    ...forwardedHeaders(call),
    ...conditions,
    ...(json === null ? bodyHeaders(call, method) : jsonHeaders(json)),
  }
  const path = below ? pathBelow(below.rest, call.query, basePath) : basePath + buildPath(call)
  const head = { method, path, headers }
  if (json !== null) return { head, source: Readable.from([Buffer.from(json)]) }
  return { head, source: upload ? limitUpload(call, upload.bytes, maxBytes) : null }
}

/** Drops repeated and long headers. */
function forwardedHeaders({ headers, below }: Call): Record<string, string> {
  const forwarded: Record<string, string> = {}
  for (const name of ['accept', ...(below?.requestHeaders ?? [])]) {
    const value = headers.isRepeated(name) ? '' : headers.informative(name)
    if (value !== '' && value.length <= maxForwardedLength) forwarded[name] = value
  }
  return forwarded
}

function bodyHeaders(call: Call, method: string): Record<string, string> {
  if (!call.upload) return methodsWithBody.has(method) ? { 'content-length': '0' } : {}
  const length = call.headers.optional('content-length')
  return { 'content-type': call.upload.contentType, ...(length !== undefined && { 'content-length': length }) }
}

/** The router and the validation stage have checked the path and the query. */
function pathBelow(rest: string, query: string, basePath: string): string {
  return (basePath + rest || '/') + (query === '' ? '' : `?${query}`)
}

/** Throws REQUEST.TOO_LARGE if the announced length exceeds the limit. */
function limitUpload(call: Call, source: Readable, maxBytes: number): Readable {
  if (Number(call.headers.optional('content-length') ?? 0) > maxBytes) throw tooLarge()
  let size = 0
  const limited = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length
      if (size > maxBytes) done(tooLarge())
      else done(null, chunk)
    },
  })
  // The stream client listens for the errors of the returned stream.
  return pipeline(source, limited, () => undefined)
}

function tooLarge(): Refusal {
  return new Refusal('REQUEST.TOO_LARGE', { internal: 'body that is passed through' })
}
