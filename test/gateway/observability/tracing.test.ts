import { type ContextManager, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { trace as trace1_9 } from 'opentelemetry-api-1.9'
import { trace as trace1_10 } from 'opentelemetry-api-1.10'
import { describe, expect, test } from 'vitest'
import { listWallets } from '../../../src/banking/wallets/contract.ts'
import { parseTraceparent, traceStage, withSpan } from '../../../src/gateway/observability/tracing.ts'
import type { Call } from '../../../src/gateway/pipeline/call.ts'
import { Headers } from '../../../src/gateway/pipeline/headers.ts'
import { arrivedCall } from '../../harness/call.ts'
import { recordingTracer } from '../../harness/tracer.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

function headersOf(rawHeaders: string[]): Headers {
  const headers: Record<string, string> = {}
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers[rawHeaders[index] ?? ''] = rawHeaders[index + 1] ?? ''
  return new Headers({ headers, rawHeaders })
}

function callWith(raw: string[]): Call {
  return arrivedCall(listWallets, { headers: headersOf(raw) })
}

async function traceOf(trusted: boolean, raw: string[]) {
  const call = callWith(raw)
  await traceStage(() => trusted)(call)
  return call.trace?.traceId
}

/** Copies of the API share this symbol. Each registration stores its version there. */
const registry = Symbol.for('opentelemetry.js.api.1')

describe('an SDK with its own copy of the OpenTelemetry API', () => {
  test.each([
    ['1.9', trace1_9],
    ['1.10', trace1_10],
  ])('is found if its copy has version %s', async (_version, api) => {
    Reflect.deleteProperty(globalThis, registry)
    const { tracer } = recordingTracer()
    expect(api.setGlobalTracerProvider({ getTracer: () => tracer })).toBe(true)
    expect(await traceOf(true, ['traceparent', `00-${traceId}-${spanId}-01`])).toBe(traceId)
    expect(await traceOf(true, [])).toMatch(/^[0-9a-f]{32}$/)
    Reflect.deleteProperty(globalThis, registry)
  })
})

describe('traceparent', () => {
  test.each([
    [`00-${traceId}-${spanId}-01`, 1],
    [`00-${traceId}-${spanId}-00`, 0],
    [`00-${traceId}-${spanId}-03`, 1],
    [`00-${traceId}-${spanId}-fe`, 0],
    [`cc-${traceId}-${spanId}-01-what-comes-later`, 1],
  ])('%s is accepted; of its flags only the sampled one is used', (text, traceFlags) => {
    expect(parseTraceparent(text)).toEqual({ traceId, spanId, traceFlags, isRemote: true })
  })

  test.each([
    '',
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${spanId}-011`,
  ])('«%s» is not a valid parent', (text) => {
    expect(parseTraceparent(text)).toBeNull()
  })

  const header = ['traceparent', `00-${traceId}-${spanId}-01`]

  test('it is accepted from a trusted peer', async () => expect(await traceOf(true, header)).toBe(traceId))
  test('it is ignored from an untrusted peer', async () => expect(await traceOf(false, header)).toBeNull())
  test('a repeated header is ignored', async () => expect(await traceOf(true, [...header, ...header])).toBeNull())
})

test('a tracestate is forwarded with its parent; a repeated one is ignored', async () => {
  const stateOf = async (...states: string[]) => {
    const raw = states.flatMap((state) => ['tracestate', state])
    const call = callWith(['traceparent', `00-${traceId}-${spanId}-01`, ...raw])
    await traceStage(() => true)(call)
    return call.trace?.tracestate
  }
  expect([await stateOf('a=1'), await stateOf('a=1', 'a=1')]).toEqual(['a=1', null])
})

test("a stage runs inside the request's span, so that spans of libraries nest below it", async () => {
  const entered: unknown[] = []
  const manager: ContextManager = {
    active: () => ROOT_CONTEXT,
    with: (inside, run, self, ...args) => {
      entered.push(trace.getSpan(inside))
      return Reflect.apply(run, self, args)
    },
    bind: (_inside, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  context.setGlobalContextManager(manager)
  const call = callWith([])
  await traceStage(() => true)(call)
  await withSpan(() => undefined)(call)
  context.disable()
  expect(entered).toEqual([call.trace?.span])
})
