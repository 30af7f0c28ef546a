import * as z from 'zod'
import { type Instant, minutes, toInstant, toIso } from '../../kernel/index.ts'
import type { Gathered } from '../../platform/replicas.ts'
import { boundMs, buckets, type TrafficMinute, trafficMinutes } from '../observability/traffic.ts'
import type { Status } from '../operations/status-schema.ts'

const count = z.int().min(0)

/** As another replica sends it. */
const Minutes = z.array(
  z.object({
    minute: z.int(),
    requests: count,
    failed: count,
    refused: count,
    abandoned: count,
    durations: z.array(
      z.tuple([
        z
          .int()
          .min(0)
          .max(buckets - 1),
        count,
      ]),
    ),
  }),
)

/** Adds the minutes of all replicas. Returns every minute of the last hour, oldest first. */
export function toMinuteViews(answers: Gathered['answers'], now: Instant) {
  const all: TrafficMinute[] = answers.flatMap(({ result }) => Minutes.safeParse(result).data ?? [])
  const current = Math.floor(now / minutes(1))
  return Array.from({ length: trafficMinutes }, (_, index) => current - trafficMinutes + 1 + index).map((minute) => {
    const parts = all.filter((each) => each.minute === minute)
    const total = (name: 'requests' | 'failed' | 'refused' | 'abandoned') =>
      parts.reduce((sum, part) => sum + part[name], 0)
    return {
      at: toIso(toInstant(minute * minutes(1))),
      requests: total('requests'),
      failed: total('failed'),
      refused: total('refused'),
      abandoned: total('abandoned'),
      p99Ms: percentileMs(parts, 0.99),
    }
  })
}

/** Without the reasons of failed checks, which can contain addresses. */
export function toStateViews({ replicas, missing, shared }: Status) {
  return {
    replicas: replicas.map(({ replica, version, role, startedAt, uptimeSeconds, readiness, checks }) => ({
      ...{ replica, version, role, startedAt, uptimeSeconds, readiness },
      checks: Object.entries(checks).map(([name, result]) => ({ name, result })),
    })),
    missing,
    circuits: replicas.flatMap(({ replica, backends }) =>
      Object.entries(backends).map(([backend, circuit]) => ({ replica, backend, circuit })),
    ),
    trials: replicas.flatMap(({ replica, trials }) => (trials ?? []).map((trial) => ({ replica, ...trial }))),
    ledger: shared.ledger,
    audit: {
      verifiedAt: shared.audit?.at ?? null,
      intact: shared.audit?.intact ?? null,
      head: shared.auditHead,
    },
  }
}

/** The upper bound of the bucket, or null without durations. */
function percentileMs(parts: readonly TrafficMinute[], share: number): number | null {
  const counts = new Map<number, number>()
  for (const { durations } of parts)
    for (const [bucket, count] of durations) counts.set(bucket, (counts.get(bucket) ?? 0) + count)
  const total = counts.values().reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  const sorted = [...counts].toSorted(([one], [other]) => one - other)
  const found = sorted.find(([, count]) => {
    seen += count
    return seen >= total * share
  })
  return found ? boundMs(found[0]) : null
}
