import { PassThrough } from 'node:stream'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { HandlerDeadline } from '../../src/backends/index.ts'
import { SocketReply, StreamReply } from '../../src/kernel/index.ts'
import { createMovableDurations } from '../harness/durations.ts'

afterEach(() => vi.restoreAllMocks())

function createDeadline(timeoutMs: number) {
  const durations = createMovableDurations()
  const registry = new Registry()
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
  return { deadline: new HandlerDeadline(timeoutMs, durations, logger, registry), durations, registry, lines }
}

describe('a handler', () => {
  test('in time resolves with its reply, or rejects with its error', async () => {
    const { deadline, lines } = createDeadline(1_000)
    await expect(deadline.run('a.read', () => Promise.resolve(1))).resolves.toBe(1)
    await expect(deadline.run('a.read', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(lines).toEqual([])
  })

  test('that is late is refused at its own deadline, and is logged and counted', async () => {
    const { deadline, durations, registry, lines } = createDeadline(60_000)
    const late = Promise.withResolvers<number>()
    const first = deadline.run('a.slow', () => late.promise)
    durations.skip(30_000)
    const second = deadline.run('a.hang', () => new Promise(() => undefined))
    durations.skip(30_000)
    await expect(first).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
    expect(await registry.metrics()).toContain('portico_handlers_overdue 1')
    durations.skip(30_000)
    await expect(second).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
    expect(await registry.metrics()).toContain('portico_handlers_overdue 2')
    late.resolve(1)
    await expect.poll(() => lines.join()).toContain('a handler returned after its deadline')
    const metrics = await registry.metrics()
    expect(metrics).toContain('portico_handlers_overdue 1')
    expect(metrics).toContain('portico_handler_timeouts_total{operation="a.slow"} 1')
  })

  test('that is late: its signal aborts with the refusal', async () => {
    const { deadline, durations } = createDeadline(60_000)
    let signal: AbortSignal | undefined
    const run = deadline.run('a.slow', (expired) => {
      signal = expired
      return new Promise(() => undefined)
    })
    durations.skip(60_000)
    await expect(run).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
    expect(signal?.reason).toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
  })

  test.each([
    ['stream', (bytes: PassThrough) => new StreamReply(200, {}, bytes)],
    ['socket', (bytes: PassThrough) => new SocketReply(null, null, bytes)],
  ] as const)('that is late with a %s: the gateway closes it', async (_name, toReply) => {
    const { deadline, durations } = createDeadline(60_000)
    const late = Promise.withResolvers<StreamReply | SocketReply>()
    const run = deadline.run('a.slow', () => late.promise)
    durations.skip(60_000)
    await expect(run).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
    const bytes = new PassThrough()
    late.resolve(toReply(bytes))
    await expect.poll(() => bytes.destroyed).toBe(true)
  })

  test('in time needs no separate timer', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout')
    const { deadline } = createDeadline(60_000)
    for (let count = 0; count < 1_000; count++) await deadline.run('a.read', () => Promise.resolve(count))
    expect(timers).toHaveBeenCalledTimes(1)
  })
})
