import { createServer, type IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { freePort } from './postgres.ts'

/** A field of a protobuf message: bytes, or a number. */
type Field = Buffer | bigint

/** Decodes a message of the protobuf wire format into its fields by number. */
function fieldsOf(bytes: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const kind = tag & 7
    const value = kind === 0 ? varint() : kind === 1 ? take(8) : kind === 2 ? take(Number(varint())) : take(4)
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}

function messages(fields: Map<number, Field[]>, number: number): Map<number, Field[]>[] {
  return (fields.get(number) ?? []).flatMap((field) => (Buffer.isBuffer(field) ? [fieldsOf(field)] : []))
}

function bytesOf(fields: Map<number, Field[]>, number: number): Buffer {
  const [field] = fields.get(number) ?? []
  return Buffer.isBuffer(field) ? field : Buffer.alloc(0)
}

function numberOf(fields: Map<number, Field[]>, number: number): number {
  const [field] = fields.get(number) ?? []
  return typeof field === 'bigint' ? Number(field) : 0
}

function attributesOf(fields: Map<number, Field[]>, number: number): Record<string, string | number> {
  return Object.fromEntries(
    messages(fields, number).map((pair) => {
      const [value = new Map<number, Field[]>()] = messages(pair, 2)
      return [bytesOf(pair, 1).toString(), value.has(3) ? numberOf(value, 3) : bytesOf(value, 1).toString()]
    }),
  )
}

export interface ReceivedSpan {
  traceId: string
  spanId: string
  /** Empty for a root. */
  parentId: string
  name: string
  /** 2 for a server, 3 for a client. */
  kind: number
  attributes: Record<string, string | number>
  /** 2 for an error. */
  status: number
  resource: Record<string, string | number>
}

/** opentelemetry-proto: ExportTraceServiceRequest. */
function spansOf(body: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const [resource = new Map<number, Field[]>()] = messages(resourceSpans, 1)
    return messages(resourceSpans, 2)
      .flatMap((scope) => messages(scope, 2))
      .map((span) => ({
        traceId: bytesOf(span, 1).toString('hex'),
        spanId: bytesOf(span, 2).toString('hex'),
        parentId: bytesOf(span, 4).toString('hex'),
        name: bytesOf(span, 5).toString(),
        kind: numberOf(span, 6),
        attributes: attributesOf(span, 9),
        status: messages(span, 15).map((status) => numberOf(status, 3))[0] ?? 0,
        resource: attributesOf(resource, 1),
      }))
  })
}

/** A collector that keeps the spans it gets. */
export async function startCollector(port?: number) {
  const used = port ?? (await freePort())
  const spans: ReceivedSpan[] = []
  const requests: { path: string | undefined; headers: IncomingHttpHeaders }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    requests.push({ path: request.url, headers: request.headers })
    spans.push(...spansOf(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body))
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  await new Promise<void>((resolve) => server.listen(used, '127.0.0.1', resolve))
  return {
    port: used,
    url: `http://127.0.0.1:${used}`,
    spans,
    requests,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
