import {
  context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { chains } from '../../kernel/index.ts'
import type { Call, CallTrace, Stage, UpstreamUse } from '../pipeline/call.ts'
import type { FinishedRequest } from './request-log.ts'

const traceparentPattern = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** Null for an invalid header. */
export function parseTraceparent(text: string): SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] = traceparentPattern.exec(text) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

/**
 * Runs after the stage that determines whether the peer is trusted, because an untrusted traceparent would add requests
 * to other people's traces.
 */
export function traceStage(isTrusted: (call: Call) => boolean): Stage {
  const tracer = trace.getTracer('portico')
  return (call) => {
    const parent = isTrusted(call) ? parentOf(call) : null
    const parentContext = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    const attributes = {
      'http.request.method': call.method,
      'http.route': call.chain.prefix + call.operation.path,
      'portico.operation': call.operation.id,
      'portico.chain': call.chainId,
      'portico.request_id': call.requestId,
      ...(call.idempotencyKey !== null && { 'portico.idempotency_key': call.idempotencyKey }),
    }
    const options = { kind: SpanKind.SERVER, startTime: call.receivedAt, attributes }
    call.trace = toCallTrace(tracer.startSpan(call.operation.id, options, parentContext))
  }
}

/** Makes spans of statements, and those of an SDK, nest below the request's span. */
export function withSpan(stage: Stage): Stage {
  return (call) => (call.trace ? context.with(call.trace.context, stage, undefined, call) : stage(call))
}

/** Ends the span with `ok`, `abandoned` or the code of a refusal. */
type EndAttempt = (outcome: string) => void

/**
 * Starts the span of an attempt at a service, by the semantic conventions of OpenTelemetry for HTTP clients, and
 * replaces the traceparent that the service gets. The URL contains the template of the path, because a path contains ids.
 */
export function startAttempt(call: Call, { url, attempts }: UpstreamUse): EndAttempt {
  if (!call.trace?.span.isRecording()) return () => undefined
  const { operation, below, trace: own } = call
  const { origin, hostname, port, protocol, pathname } = new URL(url)
  const method = below ? call.method : operation.method
  const template = pathname.replace(/\/$/, '') + chains[operation.chains[0]].prefix + operation.path
  const attributes = {
    'http.request.method': method,
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
    'url.template': template,
    'url.full': origin + template,
    ...(attempts > 1 && { 'http.request.resend_count': attempts - 1 }),
  }
  const options = { kind: SpanKind.CLIENT, attributes }
  const span = trace.getTracer('portico').startSpan(`${method} ${template}`, options, own.context)
  const { traceparent, tracestate } = toCallTrace(span)
  call.trace = { ...own, traceparent, tracestate }
  return (outcome) => {
    const status = call.upstream?.status ?? null
    if (status !== null) span.setAttribute('http.response.status_code', status)
    if (outcome !== 'ok') {
      span.setAttribute('error.type', status !== null && status >= 400 ? String(status) : outcome)
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end()
  }
}

export function endSpan(finished: FinishedRequest): void {
  const { call, refusal, status } = finished
  const span = call ? call.trace?.span : startUnmatched(finished)
  if (!span) return
  if (status === null) span.setAttribute('portico.abandoned', true)
  else span.setAttribute('http.response.status_code', status)
  if (refusal) span.setAttribute('portico.code', refusal.code)
  if (status !== null && status >= 500) {
    span.setAttribute('error.type', refusal?.code ?? String(status))
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}

/** The OpenTelemetry API limits the size of the tracestate. */
function parentOf({ headers }: Call): SpanContext | null {
  const parent = headers.isRepeated('traceparent') ? null : parseTraceparent(headers.informative('traceparent'))
  const state = headers.isRepeated('tracestate') ? '' : headers.informative('tracestate')
  return parent && state !== '' ? { ...parent, traceState: createTraceState(state) } : parent
}

function toCallTrace(span: Span): CallTrace {
  const own = span.spanContext()
  const nested = trace.setSpan(ROOT_CONTEXT, span)
  if (!trace.isSpanContextValid(own))
    return { span, context: nested, traceId: null, traceparent: null, tracestate: null }
  const flags = own.traceFlags.toString(16).padStart(2, '0')
  const tracestate = own.traceState?.serialize() || null
  const traceparent = `00-${own.traceId}-${own.spanId}-${flags}`
  return { span, context: nested, traceId: own.traceId, traceparent, tracestate }
}

/** Requests without an operation never reach the trace stage. Their parent is not read: it may be forged. */
function startUnmatched({ unmatched, requestId }: FinishedRequest): Span | undefined {
  if (!unmatched) return undefined
  const attributes = { 'http.request.method': unmatched.method, 'portico.request_id': requestId }
  const options = { kind: SpanKind.SERVER, startTime: unmatched.receivedAt, attributes }
  return trace.getTracer('portico').startSpan('unmatched', options, ROOT_CONTEXT)
}
