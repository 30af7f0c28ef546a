import { z } from 'zod'
import { type Clock, fallbackLocale, invalid, type RequestContext } from '../../src/kernel/index.ts'

export function createRequestContext(clock: Clock, more: Partial<RequestContext> = {}): RequestContext {
  return {
    operationId: 'test',
    requestId: 'request-1',
    receivedAt: clock.now(),
    portal: 'CONSUMER',
    locale: fallbackLocale,
    clientIp: '203.0.113.9',
    clientHash: 'client-one',
    userAgent: 'test',
    country: 'XX',
    channelSessionId: null,
    range: null,
    ifNoneMatch: null,
    ifRange: null,
    headOnly: false,
    lastEventId: null,
    ...more,
  }
}

/** Throws the same refusal as the pipeline. */
export function parseInput(schema: unknown, value: unknown): unknown {
  if (!(schema instanceof z.ZodType)) return null
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw invalid(String(parsed.error.issues[0]?.path[0] ?? 'body'))
  return parsed.data
}
