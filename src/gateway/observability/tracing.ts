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

/** Returns the parent that a traceparent header names, or null for an invalid header. */
export function parseTraceparent(text: string): SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] = traceparentPattern.exec(text) ?? []
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

/** Returns the parent span context of a call, with the tracestate that the caller sent. The OpenTelemetry API limits the tracestate's size. */
const parentOf = ({ headers }: Call): SpanContext | null => {
  const parent = headers.isRepeated('traceparent') ? null : parseTraceparent(headers.informative('traceparent'))
  const state = headers.isRepeated('tracestate') ? '' : headers.informative('tracestate')
  return parent && state !== '' ? { ...parent, traceState: createTraceState(state) } : parent
}

const toCallTrace = (span: Span): CallTrace => {
  const own = span.spanContext()
  if (!trace.isSpanContextValid(own)) return { span, traceId: null, traceparent: null, tracestate: null }
  const flags = own.traceFlags.toString(16).padStart(2, '0')
  const tracestate = own.traceState?.serialize() || null
  return { span, traceId: own.traceId, traceparent: `00-${own.traceId}-${own.spanId}-${flags}`, tracestate }
}

/**
 * Starts the span of the request. This stage runs after the one that determines whether the peer is trusted, because an
 * untrusted traceparent would add requests to other people's traces.
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
    }
    const options = { kind: SpanKind.SERVER, startTime: call.receivedAt, attributes }
    call.trace = toCallTrace(tracer.startSpan(call.operation.id, options, parentContext))
  }
}

/** Returns the stage running inside the request's span, so that spans of an SDK (such as database queries) nest below it. */
export function withSpan(stage: Stage): Stage {
  return (call) => {
    if (!call.trace) return stage(call)
    return context.with(trace.setSpan(context.active(), call.trace.span), () => stage(call))
  }
}

/** Ends the span of a finished request, with its status and refusal code. */
export function endSpan({ call, refusal, status }: FinishedRequest): void {
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
