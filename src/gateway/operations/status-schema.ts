import * as z from 'zod'

const trial = z.object({
  domains: z.array(z.string()),
  backend: z.string(),
  canary: z
    .object({
      url: z.string(),
      isReturned: z.boolean(),
      share: z.number(),
      named: z.number(),
      requests: z.number(),
      failures: z.number(),
    })
    .nullable(),
  shadow: z
    .object({
      url: z.string(),
      share: z.number(),
      differences: z.array(
        z.object({
          operation: z.string(),
          kind: z.string(),
          path: z.string(),
          count: z.number(),
          firstAt: z.string(),
          lastAt: z.string(),
        }),
      ),
    })
    .nullable(),
})

/** One replica's answer. Another version may send other fields, which are ignored. */
export const ReplicaStatus = z.object({
  version: z.string(),
  role: z.enum(['gateway', 'domains']),
  startedAt: z.string(),
  uptimeSeconds: z.number(),
  readiness: z.enum(['ready', 'unready', 'draining']),
  /** By name: `ok`, `read-only`, `degraded` or `failed`. */
  checks: z.record(z.string(), z.string()),
  /** Why a check failed, by its name. */
  reasons: z.record(z.string(), z.string()),
  /** The circuit of each upstream: `closed`, `half open` or `open`. */
  backends: z.record(z.string(), z.string()),
  /** The shadows and canaries of backends. */
  trials: z.array(trial).nullish(),
  /** Waiting work by queue. */
  queues: z.record(z.string(), z.number()),
  clockSkewSeconds: z.number(),
  memoryBytes: z.object({ rss: z.number(), heapUsed: z.number() }),
  eventLoopLagSeconds: z.number(),
  /** The last verification of the audit log by this replica since its start. */
  auditVerified: z.object({ at: z.string(), intact: z.boolean(), entriesChecked: z.number() }).nullish(),
})

const shared = z.object({
  ledger: z
    .object({
      checkedAt: z.string(),
      wholeCheckedAt: z.string().nullable(),
      discrepancies: z.number(),
      brokenRule: z.string().nullable(),
    })
    .nullable(),
  /** `sequence:hash` of the newest sealed entry of the audit log. */
  auditHead: z.string().nullable(),
  jobs: z.object({ due: z.number(), retrying: z.number(), failed: z.number() }).nullable(),
  eventsLagSeconds: z.number().nullable(),
  webhookDeliveriesWaiting: z.number().nullable(),
})
export type SharedStatus = z.output<typeof shared>

/** The reply of `GET /status` on the operations listener. */
export const Status = z.object({
  isHealthy: z.boolean(),
  problems: z.array(z.string()),
  replicas: z.array(ReplicaStatus.omit({ auditVerified: true }).extend({ replica: z.string() })),
  missing: z.array(z.object({ replica: z.string(), lastSeenAt: z.string() })),
  shared: shared.extend({ audit: ReplicaStatus.shape.auditVerified.unwrap().nullable() }),
})
export type Status = z.output<typeof Status>
