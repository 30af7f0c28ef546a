import type { LogField } from '../../config/index.ts'
import type { Call } from '../pipeline/call.ts'

/** A header can have 16 KB, and a line has about 0.5 KB. In characters. */
const maxLength = 200

type ReadField = (call: Call) => string | number | undefined

/** None of them can contain a secret, a body or a query. */
const readers: Readonly<Record<LogField, ReadField>> = {
  acceptLanguage: header('accept-language'),
  cfRay: header('cf-ray'),
  contentType: header('content-type'),
  host: header('host'),
  locale: (call) => call.locale,
  origin: header('origin'),
  peer: (call) => call.peer,
  referer: ({ headers }) => {
    const url = URL.parse(headers.informative('referer'))
    return url === null ? undefined : (url.origin + url.pathname).slice(0, maxLength)
  },
  spanId: ({ trace }) => (trace?.traceId ? trace.span.spanContext().spanId : undefined),
  upstream: ({ upstream }) => upstream?.url,
  upstreamAttempts: ({ upstream }) => upstream?.attempts,
  upstreamStatus: ({ upstream }) => upstream?.status ?? undefined,
}

export function readLogFields(names: readonly LogField[], call: Call): Record<string, string | number | undefined> {
  const fields: Record<string, string | number | undefined> = {}
  for (const name of names) fields[name] = readers[name](call)
  return fields
}

function header(name: string): ReadField {
  return ({ headers }) => headers.informative(name).slice(0, maxLength) || undefined
}
