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
import type { Call, Stage } from './call.ts'
import type { Finished } from './request-log.ts'

/** A request's place in a trace (W3C Trace Context). */
export interface CallTrace {
  span: Span
  /** Null where nobody traces: no SDK is there and nobody before us has begun a trace. */
  traceId: string | null
  /** What an upstream is told. */
  traceparent: string | null
  /** What the tracing systems before us say beside it. */
  tracestate: string | null
}

const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** The parent that the one before us names; null for what names none. */
export const parseTraceparent = (text: string): SpanContext | null => {
  const [, traceId = '', spanId = '', flags = ''] = form.exec(text) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

/** The parent of a call, with its tracestate, which counts only beside it and is bounded by the API's own reading. */
const parentOf = ({ headers }: Call): SpanContext | null => {
  const parent = headers.isRepeated('traceparent') ? null : parseTraceparent(headers.informative('traceparent'))
  const state = headers.isRepeated('tracestate') ? '' : headers.informative('tracestate')
  return parent && state !== '' ? { ...parent, traceState: createTraceState(state) } : parent
}

const traceOf = (span: Span): CallTrace => {
  const own = span.spanContext()
  if (!trace.isSpanContextValid(own)) return { span, traceId: null, traceparent: null, tracestate: null }
  const flags = own.traceFlags.toString(16).padStart(2, '0')
  const tracestate = own.traceState?.serialize() || null
  return { span, traceId: own.traceId, traceparent: `00-${own.traceId}-${own.spanId}-${flags}`, tracestate }
}

/**
 * Begins the request's span. It comes after the stage that knows whether the peer may be believed: a stranger's
 * traceparent would put its requests into other people's traces.
 */
export const beginSpan = (isTrusted: (call: Call) => boolean): Stage => {
  const tracer = trace.getTracer('portico')
  return (call) => {
    const parent = isTrusted(call) ? parentOf(call) : null
    const around = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    const attributes = {
      'http.request.method': call.method,
      'http.route': call.chain.prefix + call.operation.path,
      'portico.operation': call.operation.id,
      'portico.chain': call.chainId,
      'portico.request_id': call.requestId,
    }
    const options = { kind: SpanKind.SERVER, startTime: call.receivedAt, attributes }
    call.trace = traceOf(tracer.startSpan(call.operation.id, options, around))
  }
}

/** Runs a stage inside the request's span, so that an SDK's own spans (the database's, say) hang below it. */
export const insideSpan =
  (stage: Stage): Stage =>
  (call) => {
    if (!call.trace) return stage(call)
    return context.with(trace.setSpan(context.active(), call.trace.span), () => stage(call))
  }

export const endSpan = ({ call, refusal, status }: Finished): void => {
  if (!call?.trace) return
  const { span } = call.trace
  span.setAttribute('http.response.status_code', status)
  if (refusal) span.setAttribute('portico.code', refusal.code)
  if (status >= 500) {
    span.setAttribute('error.type', refusal?.code ?? String(status))
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}
