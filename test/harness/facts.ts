import { z } from 'zod'
import { type Clock, fallbackLocale, invalid, type RequestContext } from '../../src/kernel/index.ts'

/** What the pipeline tells of a request, before a test says what matters to it. */
export const facts = (clock: Clock, more: Partial<RequestContext> = {}): RequestContext => ({
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
  ...more,
})

/** An input as its schema takes it, or the refusal that the pipeline has for one that it does not take. */
export const taken = (schema: unknown, value: unknown): unknown => {
  if (!(schema instanceof z.ZodType)) return null
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw invalid(String(parsed.error.issues[0]?.path[0] ?? 'body'))
  return parsed.data
}
