import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type Durations, Refusal, SocketReply, StreamReply, type Timer } from '../kernel/index.ts'

interface PendingCall {
  operation: string
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
  readonly #durations: Durations
  readonly #logger: Logger
  readonly #pending = new Set<PendingCall>()
  readonly #timeouts: Counter<'operation'>
  #overdue = 0
  #timer: Timer | undefined

  constructor(timeoutMs: number, durations: Durations, logger: Logger, registry: Registry) {
    this.#timeoutMs = timeoutMs
    this.#durations = durations
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
      aggregator: 'sum',
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
      const call = { operation, deadline: this.#durations.now() + this.#timeoutMs, expired, reject }
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

  #wait(ms: number): Timer {
    const timer = this.#durations.after(ms, () => this.#expire())
    timer.unref()
    return timer
  }

  #expire(): void {
    this.#timer = undefined
    const now = this.#durations.now()
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
    const lateMs = Math.round(this.#durations.now() - call.deadline)
    this.#logger.warn({ operation: call.operation, lateMs, err }, 'a handler returned after its deadline')
    return false
  }
}

function release(reply: unknown): void {
  if (reply instanceof StreamReply) reply.body.destroy()
  if (reply instanceof SocketReply) reply.channel.destroy()
}
