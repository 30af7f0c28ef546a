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
import type { Call, CallTrace, Stage } from '../pipeline/call.ts'
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

/** Makes an SDK's spans, such as database queries, nest below the request's span. */
export function withSpan(stage: Stage): Stage {
  return (call) => {
    if (!call.trace) return stage(call)
    return context.with(trace.setSpan(context.active(), call.trace.span), () => stage(call))
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
  if (!trace.isSpanContextValid(own)) return { span, traceId: null, traceparent: null, tracestate: null }
  const flags = own.traceFlags.toString(16).padStart(2, '0')
  const tracestate = own.traceState?.serialize() || null
  return { span, traceId: own.traceId, traceparent: `00-${own.traceId}-${own.spanId}-${flags}`, tracestate }
}

/** Requests without an operation never reach the trace stage. Their parent is not read: it may be forged. */
function startUnmatched({ unmatched, requestId }: FinishedRequest): Span | undefined {
  if (!unmatched) return undefined
  const attributes = { 'http.request.method': unmatched.method, 'portico.request_id': requestId }
  const options = { kind: SpanKind.SERVER, startTime: unmatched.receivedAt, attributes }
  return trace.getTracer('portico').startSpan('unmatched', options, ROOT_CONTEXT)
}
