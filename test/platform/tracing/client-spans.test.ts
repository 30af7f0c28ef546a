import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inJobSpan, traceCommands, traceStatements } from '../../../src/platform/tracing/client-spans.ts'
import { recordingTracer } from '../../harness/tracer.ts'

const { tracer, ended } = recordingTracer()

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider({ getTracer: () => tracer })
})
afterAll(() => {
  trace.disable()
  context.disable()
})
beforeEach(() => {
  ended.length = 0
})

/** Fails if it is read: an error's message can contain values. */
class DatabaseError extends Error {
  readonly code = '23505'
  override readonly name = 'error'
}

describe('spans of statements and commands', () => {
  const statement = traceStatements('postgres://portico:secret@db.example:6432/portico?sslmode=verify-full')
  const command = traceCommands('rediss://:secret@cache.example/3')

  test('a statement nests below the span of its caller, with the attributes of the conventions', async () => {
    await inJobSpan('exports', () => statement('select "id" from "wallets" where "id" = $1', async () => 1))
    const [span, job] = ended
    expect(job).toMatchObject({ name: 'job exports', parent: undefined, attributes: { 'portico.job': 'exports' } })
    expect(span?.parent?.spanId).toBe(job?.context.spanId)
    expect(span).toMatchObject({ name: 'SELECT wallets', options: { kind: SpanKind.CLIENT }, status: null })
    expect(span?.attributes).toEqual({
      'db.system.name': 'postgresql',
      'db.namespace': 'portico',
      'db.operation.name': 'SELECT',
      'db.query.summary': 'SELECT wallets',
      'server.address': 'db.example',
      'server.port': 6432,
    })
  })

  test('a failed statement has its SQLSTATE, and not its message', async () => {
    const failing = async () => Promise.reject(new DatabaseError('Key (email)=(owner@demo.test) already exists'))
    await expect(inJobSpan('exports', () => statement('insert into accounts', failing))).rejects.toThrow()
    const [span] = ended
    expect(span?.attributes).toMatchObject({ 'db.response.status_code': '23505', 'error.type': '23505' })
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR })
    expect(JSON.stringify(ended)).not.toContain('owner@demo.test')
  })

  test('a command has its name and the hash of its script, and no key', async () => {
    await inJobSpan('exports', () => command('EVALSHA', 'abc', async () => 1))
    expect(ended[0]).toMatchObject({ name: 'EVALSHA', options: { kind: SpanKind.CLIENT } })
    expect(ended[0]?.attributes).toEqual({
      'db.system.name': 'redis',
      'db.namespace': '3',
      'db.operation.name': 'EVALSHA',
      'db.stored_procedure.name': 'abc',
      'server.address': 'cache.example',
      'server.port': 6379,
    })
  })

  test('the embedded store has no address', async () => {
    await inJobSpan('exports', () => traceStatements(null)('COMMIT', async () => 1))
    expect(ended[0]?.attributes).not.toHaveProperty('server.address')
  })

  test('without a span of the caller there is none, so that polling makes no traces', async () => {
    expect(await statement('select 1', async () => 1)).toBe(1)
    expect(await command('GET', undefined, async () => 2)).toBe(2)
    expect(ended).toEqual([])
  })
})
