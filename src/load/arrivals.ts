import { maxTimerMs } from '../kernel/index.ts'

/** A time with a constant arrival rate. */
export interface Stage {
  perSecond: number
  seconds: number
}

const rampSteps = 5

export function constantRate(perSecond: number, seconds: number): Stage[] {
  return [{ perSecond, seconds }]
}

/** Returns equally long stages that raise the rate in equal steps up to `perSecond`. */
export function rampUp(perSecond: number, seconds: number): Stage[] {
  return Array.from({ length: rampSteps }, (_, index) => ({
    perSecond: (perSecond * (index + 1)) / rampSteps,
    seconds: seconds / rampSteps,
  }))
}

/** Returns the scheduled times of all requests, in milliseconds after the start. */
export function* dueTimes(stages: readonly Stage[]): Generator<number> {
  let beginMs = 0
  for (const { perSecond, seconds } of stages) {
    const count = Math.ceil(perSecond * seconds - 1e-9)
    for (let index = 0; index < count; index++) yield beginMs + (index * 1_000) / perSecond
    beginMs += seconds * 1_000
  }
}

export interface Arrivals {
  stages: readonly Stage[]
  /** Maximum number of unfinished requests. Requests above it are dropped. */
  maxInFlight: number
  /** A monotonic clock in milliseconds. */
  now(): number
  pause(milliseconds: number): Promise<unknown>
  /** Runs the request that was scheduled for `due`, on the clock of `now`. Must not reject. */
  start(due: number): Promise<void>
  /** Called instead of `start` if too many requests are unfinished. */
  drop(): void
}

/** Maximum number of overdue requests to start before pending events are handled. */
const burst = 32

/**
 * Starts requests at their scheduled times, whether or not earlier ones have finished (an open model). Resolves once all
 * have finished. If this process is late, it starts the overdue requests without a delay and keeps their scheduled
 * times, so that their latency includes the delay.
 */
export async function runArrivals(arrivals: Arrivals): Promise<void> {
  const { stages, maxInFlight, now, pause, start, drop } = arrivals
  const begun = now()
  const inFlight = new Set<Promise<void>>()
  let overdue = 0
  for (const offset of dueTimes(stages)) {
    const due = begun + offset
    overdue += 1
    while (due > now() || overdue >= burst) {
      overdue = 0
      await pause(Math.min(Math.max(0, due - now()), maxTimerMs))
    }
    if (inFlight.size >= maxInFlight) {
      drop()
      continue
    }
    const request = start(due).finally(() => inFlight.delete(request))
    inFlight.add(request)
  }
  await Promise.all(inFlight)
}
