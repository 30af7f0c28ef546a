import { type Attributes, context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { LRUCache } from 'lru-cache'
import { sqlState, summarizeQuery, type TraceStatement } from '../../database/index.ts'
import type { TraceCommand } from '../redis/index.ts'

/*
 * Spans of calls to PostgreSQL and Redis, by the semantic conventions of OpenTelemetry for database clients. They contain
 * no statement, key or value. A caller without a recorded span gets none, so that polling makes no traces.
 */

const tracer = trace.getTracer('portico')

/** Statements with conditions have many texts. */
const maxSummaries = 1_000

interface ClientSpan {
  name: string
  attributes: Attributes
}

/** `url` is null for the embedded store. */
export function traceStatements(url: string | null): TraceStatement {
  const common = { 'db.system.name': 'postgresql', ...(url !== null && serverOf(url, 5432)) }
  const known = new LRUCache<string, ClientSpan>({ max: maxSummaries })
  const describe = (text: string): ClientSpan => {
    const { operation, text: summary } = summarizeQuery(text)
    return { name: summary, attributes: { ...common, 'db.operation.name': operation, 'db.query.summary': summary } }
  }
  return (text, run) => {
    if (!isCallerRecorded()) return run()
    const span = known.get(text) ?? describe(text)
    known.set(text, span)
    return inClientSpan(span, run)
  }
}

export function traceCommands(url: string): TraceCommand {
  const common = { 'db.system.name': 'redis', ...serverOf(url, 6379) }
  return (command, script, run) => {
    if (!isCallerRecorded()) return run()
    const procedure = script !== undefined && { 'db.stored_procedure.name': script }
    return inClientSpan({ name: command, attributes: { ...common, 'db.operation.name': command, ...procedure } }, run)
  }
}

/** The statements of a job nest below its span. */
export function inJobSpan<T>(kind: string, work: () => Promise<T>): Promise<T> {
  const span = tracer.startSpan(`job ${kind}`, { root: true, attributes: { 'portico.job': kind } })
  return context.with(trace.setSpan(ROOT_CONTEXT, span), () => endAfter(span, work))
}

function isCallerRecorded(): boolean {
  return trace.getActiveSpan()?.isRecording() ?? false
}

function inClientSpan<T>({ name, attributes }: ClientSpan, run: () => Promise<T>): Promise<T> {
  return endAfter(tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }), run)
}

async function endAfter<T>(span: Span, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const status = statusOf(error)
    if (status !== undefined) span.setAttribute('db.response.status_code', status)
    span.setAttribute('error.type', status ?? nameOf(error))
    // A message could contain values.
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

/** The SQLSTATE, or the first word of an error of Redis, such as `WRONGTYPE`. */
function statusOf(error: unknown): string | undefined {
  const state = sqlState(error)
  if (state !== undefined || nameOf(error) !== 'ReplyError') return state
  return error instanceof Error ? /^[A-Z]+(?= )/.exec(error.message)?.[0] : undefined
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown'
}

/** A URL of PostgreSQL can name the host as a parameter. The path names the database. */
function serverOf(text: string, defaultPort: number): Attributes {
  const { hostname, port, pathname, searchParams } = new URL(text)
  const namespace = searchParams.get('db') ?? decodeURIComponent(pathname.slice(1))
  return {
    'server.address': searchParams.get('host') || hostname || 'localhost',
    'server.port': Number(searchParams.get('port') || port || defaultPort),
    ...(namespace !== '' && { 'db.namespace': namespace }),
  }
}
