import { setImmediate as nextTurn } from 'node:timers/promises'
import type { StreamSettings } from '../../config/index.ts'
import { type Durations, Refusal, rateLimited, type Timer, type WorkspaceAccess } from '../../kernel/index.ts'
import type { Call, StreamEnd } from './call.ts'
import type { CheckCaller } from './stages/access-control.ts'
import { spenderOf } from './stages/limits.ts'

/**
 * Interval at which session, workspace and permission of every stream are checked. Access must end within one second on
 * every replica, and caches are up to 250 ms old.
 */
export const recheckMs = 500

/** Maximum time without bytes of a stream whose handler sends no event. */
const heartbeatMs = 15_000

/** Checks of one turn of the event loop, whose look-ups share statements. */
const checksPerTurn = 1_000

/** Enough for the accounts of one replica, and below the usual limit of open files. */
const defaultMaxOpen = 10_000

export interface StreamMetrics {
  changeOpen(operation: string, change: 1 | -1): void
  countEnd(operation: string, reason: StreamEnd): void
  countRefused(): void
}

export interface OpenStreamPorts {
  settings: Omit<StreamSettings, 'origins'>
  maxOpen?: number
  addressKey(address: string): string
  metrics: StreamMetrics
  durations: Durations
}

export interface OpenStream {
  /** Marks the stream as not idle. */
  touch(): void
  /** Ends the count. Later calls have no effect. `reason` is why the stream ended, unless the gateway ended it. */
  release(reason: 'client' | 'service' | 'slow'): void
}

interface Entry {
  call: Call
  key: string
  openedAt: number
  activeAt: number
  isChecking: boolean
  watch: WatchedStream
}

export interface WatchedStream {
  /** Rejects once the caller has lost its access. */
  checkCaller: CheckCaller
  /** Sends something, if the stream is one of this process. */
  keepAlive?(): void
  /** Ends the stream, which then calls `release`. */
  close(): void
}

/** The limits apply per replica. */
export class OpenStreams {
  readonly #ports: OpenStreamPorts
  readonly #entries = new Set<Entry>()
  readonly #counts = new Map<string, number>()
  #timer: Timer | undefined
  #isClosed = false

  constructor(ports: OpenStreamPorts) {
    this.#ports = ports
  }

  /**
   * Throws ACCESS.RATE_LIMITED if the account or the anonymous address has too many open streams, and
   * SYSTEM.UNAVAILABLE if the replica has.
   */
  open(call: Call, watch: WatchedStream): OpenStream {
    const { durations } = this.#ports
    const now = durations.now()
    const entry: Entry = {
      call,
      key: this.#keyOf(call),
      openedAt: now,
      activeAt: now,
      isChecking: false,
      watch,
    }
    this.#count(entry)
    this.#timer ??= durations.every(recheckMs, () => void this.#checkAll())
    return {
      touch: () => {
        entry.activeAt = durations.now()
      },
      release: (reason) => this.#release(entry, reason),
    }
  }

  /** Refuses new streams with SYSTEM.UNAVAILABLE from now on. */
  close(): void {
    this.#isClosed = true
    for (const entry of this.#entries) this.#end(entry, 'shutdown')
  }

  #keyOf({ caller, clientIp }: Call): string {
    return caller ? spenderOf(caller) : `address ${this.#ports.addressKey(clientIp)}`
  }

  #count(entry: Entry): void {
    const { settings, metrics, maxOpen = defaultMaxOpen } = this.#ports
    const { caller, operation } = entry.call
    if (this.#isClosed || this.#entries.size >= maxOpen)
      throw new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'open streams of this replica' })
    const count = this.#counts.get(entry.key) ?? 0
    const limit = caller ? settings.maxPerAccount : settings.maxPerAddress
    if (count >= limit) {
      metrics.countRefused()
      throw rateLimited(1_000, `${limit} open streams of the ${caller ? 'account' : 'address'}`)
    }
    this.#counts.set(entry.key, count + 1)
    this.#entries.add(entry)
    metrics.changeOpen(operation.id, 1)
  }

  #release(entry: Entry, reason: StreamEnd): void {
    if (!this.#entries.delete(entry)) return
    if (this.#entries.size === 0) this.#stopTimer()
    const count = (this.#counts.get(entry.key) ?? 1) - 1
    if (count === 0) this.#counts.delete(entry.key)
    else this.#counts.set(entry.key, count)
    entry.call.streamEnd ??= reason
    this.#ports.metrics.changeOpen(entry.call.operation.id, -1)
    this.#ports.metrics.countEnd(entry.call.operation.id, entry.call.streamEnd)
  }

  #end(entry: Entry, reason: StreamEnd): void {
    entry.call.streamEnd ??= reason
    entry.watch.close()
  }

  #stopTimer(): void {
    this.#timer?.close()
    this.#timer = undefined
  }

  async #checkAll(): Promise<void> {
    let checked = 0
    for (const entry of this.#entries) {
      this.#check(entry)
      checked += 1
      if (checked % checksPerTurn === 0) await nextTurn()
    }
  }

  #check(entry: Entry): void {
    if (entry.call.streamEnd !== null) return
    const { settings, durations } = this.#ports
    const now = durations.now()
    if (now - entry.openedAt >= settings.maxLifetimeMs) this.#end(entry, 'lifetime')
    else if (now - entry.activeAt >= settings.idleTimeoutMs) this.#end(entry, 'idle')
    else {
      if (now - entry.activeAt >= Math.min(heartbeatMs, settings.idleTimeoutMs / 2)) entry.watch.keepAlive?.()
      if (entry.call.caller && !entry.isChecking) this.#checkCaller(entry)
    }
  }

  #checkCaller(entry: Entry): void {
    entry.isChecking = true
    const before = rightsOf(entry.call)
    entry.watch
      .checkCaller(entry.call)
      .then(() => {
        if (!hasSameRights(before, rightsOf(entry.call))) this.#end(entry, 'rights')
      })
      .catch((error: unknown) => this.#end(entry, hasLostAccess(error) ? 'revoked' : 'unavailable'))
      .finally(() => {
        entry.isChecking = false
      })
  }
}

type Rights = Pick<WorkspaceAccess, 'isOwner' | 'permissions'>[]

function rightsOf({ caller, workspace }: Call): Rights {
  return [...(caller ? [{ isOwner: false, permissions: caller.permissions }] : []), ...(workspace ? [workspace] : [])]
}

function hasSameRights(before: Rights, now: Rights): boolean {
  return now.every(({ isOwner, permissions }, index) => {
    const earlier = before[index]
    return (
      earlier?.isOwner === isOwner &&
      (earlier.permissions === permissions || earlier.permissions.symmetricDifference(permissions).size === 0)
    )
  })
}

function hasLostAccess(error: unknown): boolean {
  return error instanceof Refusal && error.code !== 'SYSTEM.UNAVAILABLE'
}
