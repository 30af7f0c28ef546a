import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { HandlerDeadline } from '../../src/backends/index.ts'
import { SocketReply, StreamReply } from '../../src/kernel/index.ts'

afterEach(() => vi.restoreAllMocks())

function createDeadline(timeoutMs: number) {
  const registry = new Registry()
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
  return { deadline: new HandlerDeadline(timeoutMs, logger, registry), registry, lines }
}

describe('a handler', () => {
  test('in time resolves with its reply, or rejects with its error', async () => {
    const { deadline, lines } = createDeadline(1_000)
    await expect(deadline.run('a.read', () => Promise.resolve(1))).resolves.toBe(1)
    await expect(deadline.run('a.read', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(lines).toEqual([])
  })

  test('that is late is refused at its own deadline, and is logged and counted', async () => {
    const { deadline, registry, lines } = createDeadline(200)
    const late = Promise.withResolvers<number>()
    const start = performance.now()
    const first = deadline.run('a.slow', () => late.promise)
    await pause(100)
    const second = deadline.run('a.hang', () => new Promise(() => undefined))
    await expect(first).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
    await expect(second).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
    expect(performance.now() - start).toBeGreaterThanOrEqual(299)
    expect(await registry.metrics()).toContain('portico_handlers_overdue 2')
    late.resolve(1)
    await expect.poll(() => lines.join()).toContain('a handler returned after its deadline')
    const metrics = await registry.metrics()
    expect(metrics).toContain('portico_handlers_overdue 1')
    expect(metrics).toContain('portico_handler_timeouts_total{operation="a.slow"} 1')
  })

  test('that is late: its signal aborts with the refusal', async () => {
    const { deadline } = createDeadline(20)
    let signal: AbortSignal | undefined
    const run = deadline.run('a.slow', (expired) => {
      signal = expired
      return new Promise(() => undefined)
    })
    await expect(run).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
    expect(signal?.reason).toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
  })

  test.each([
    ['stream', (bytes: PassThrough) => new StreamReply(200, {}, bytes)],
    ['socket', (bytes: PassThrough) => new SocketReply(null, null, bytes)],
  ] as const)('that is late with a %s: the gateway closes it', async (_name, toReply) => {
    const { deadline } = createDeadline(20)
    const late = Promise.withResolvers<StreamReply | SocketReply>()
    await expect(deadline.run('a.slow', () => late.promise)).rejects.toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
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
