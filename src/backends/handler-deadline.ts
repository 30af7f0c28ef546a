import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { Refusal, SocketReply, StreamReply } from '../kernel/index.ts'

interface PendingCall {
  operation: string
  /** Time from performance.now(). */
  deadline: number
  expired: AbortController
  reject(refusal: Refusal): void
}

/**
 * A late handler that ignores the signal continues, because JavaScript cannot stop it. All calls have the same time
 * limit, so they expire in order, and one timer serves all of them.
 */
export class HandlerDeadline {
  readonly #timeoutMs: number
  readonly #logger: Logger
  readonly #pending = new Set<PendingCall>()
  readonly #timeouts: Counter<'operation'>
  #overdue = 0
  #timer: NodeJS.Timeout | undefined

  constructor(timeoutMs: number, logger: Logger, registry: Registry) {
    this.#timeoutMs = timeoutMs
    this.#logger = logger
    this.#timeouts = new Counter({
      name: 'portico_handler_timeouts_total',
      help: 'Requests whose handler did not return in time, by operation',
      labelNames: ['operation'],
      registers: [registry],
    })
    const overdue = (): number => this.#overdue
    new Gauge({
      name: 'portico_handlers_overdue',
      help: 'Handlers that are still running after their deadline',
      registers: [registry],
      collect() {
        this.set(overdue())
      },
    })
  }

  /** Throws SYSTEM.UPSTREAM_TIMEOUT if the handler does not return in time. */
  run<Reply>(operation: string, handle: (expired: AbortSignal) => Promise<Reply>): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const expired = new AbortController()
      const call = { operation, deadline: performance.now() + this.#timeoutMs, expired, reject }
      this.#pending.add(call)
      this.#timer ??= this.#wait(this.#timeoutMs)
      handle(expired.signal).then(
        (value) => {
          if (this.#end(call)) resolve(value)
          else release(value)
        },
        (error: unknown) => {
          if (this.#end(call, error)) reject(error)
        },
      )
    })
  }

  #wait(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#expire(), ms).unref()
  }

  #expire(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const call of this.#pending) {
      if (call.deadline > now) {
        this.#timer = this.#wait(Math.ceil(call.deadline - now))
        return
      }
      this.#pending.delete(call)
      this.#overdue += 1
      this.#timeouts.inc({ operation: call.operation })
      const internal = `the handler of ${call.operation} did not return within ${this.#timeoutMs} ms`
      const refusal = new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal })
      call.reject(refusal)
      call.expired.abort(refusal)
    }
  }

  /** A late call returns false: its client already has a refusal. */
  #end(call: PendingCall, err?: unknown): boolean {
    if (this.#pending.delete(call)) return true
    this.#overdue -= 1
    const lateMs = Math.round(performance.now() - call.deadline)
    this.#logger.warn({ operation: call.operation, lateMs, err }, 'a handler returned after its deadline')
    return false
  }
}

function release(reply: unknown): void {
  if (reply instanceof StreamReply) reply.body.destroy()
  if (reply instanceof SocketReply) reply.channel.destroy()
}
