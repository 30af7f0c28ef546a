import { type Clock, minutes } from '../../kernel/index.ts'
import type { FinishedRequest } from './request-log.ts'

/** The requests of a minute. JSON, because replicas send it to each other. */
export interface TrafficMinute {
  /** Minutes since the epoch. */
  minute: number
  requests: number
  failed: number
  refused: number
  abandoned: number
  /** The durations without streams, as pairs of a bucket and its count. */
  durations: (readonly [bucket: number, count: number])[]
}

export interface Traffic {
  record(finished: Pick<FinishedRequest, 'call' | 'status' | 'ms'>): void
  /** The last 60 minutes, without those that had no request. */
  read(): TrafficMinute[]
}

export const trafficMinutes = 60
const minuteMs = minutes(1)

/** Each bucket ends 10% above the previous one, from 0.1 ms to more than 100 s. */
const firstBoundMs = 0.1
const growth = 1.1
export const buckets = 150

interface Slot extends Omit<TrafficMinute, 'durations'> {
  durations: Uint32Array
}

/** Counts requests per minute in constant memory: the recorded requests can be younger than an hour. */
export function createTraffic(clock: Clock): Traffic {
  const slots: Slot[] = []
  const slotOf = (minute: number): Slot => {
    const slot = slots[minute % trafficMinutes]
    if (slot?.minute === minute) return slot
    const fresh = { minute, requests: 0, failed: 0, refused: 0, abandoned: 0, durations: new Uint32Array(buckets) }
    slots[minute % trafficMinutes] = fresh
    return fresh
  }
  return {
    record: ({ call, status, ms }) => {
      const slot = slotOf(Math.floor(clock.now() / minuteMs))
      slot.requests += 1
      if (status === null) slot.abandoned += 1
      else if (status >= 500) slot.failed += 1
      else if (status >= 400) slot.refused += 1
      if (status === null || isStream(call)) return
      const bucket = bucketOf(ms)
      slot.durations[bucket] = (slot.durations[bucket] ?? 0) + 1
    },
    read: () => {
      const current = Math.floor(clock.now() / minuteMs)
      return Object.values(slots)
        .filter(({ minute }) => minute <= current && minute > current - trafficMinutes)
        .map(({ durations, ...counts }) => ({ ...counts, durations: [...durations.entries()].filter(isCounted) }))
    },
  }
}

/** Returns the upper bound of a bucket in milliseconds. */
export function boundMs(bucket: number): number {
  return Math.round(firstBoundMs * growth ** bucket * 100) / 100
}

function bucketOf(ms: number): number {
  if (ms <= firstBoundMs) return 0
  return Math.min(buckets - 1, Math.ceil(Math.log(ms / firstBoundMs) / Math.log(growth)))
}

function isStream(call: FinishedRequest['call']): boolean {
  if (!call) return false
  return call.streamEnd !== null || call.operation.reply === 'events' || call.operation.reply === 'socket'
}

function isCounted([, count]: readonly [bucket: number, count: number]): boolean {
  return count > 0
}
