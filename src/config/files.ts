import { z } from 'zod'
import { codesOf } from '../kernel/index.ts'

const interval = z.int().min(100)

const storage = z.discriminatedUnion('kind', [
  /** `blobs` in the data directory, which replicas then have to share. */
  z.strictObject({ kind: z.literal('disk') }),
  /** Any S3-compatible store; the credentials come from the environment, a profile or the machine's role. */
  z.strictObject({
    kind: z.literal('s3'),
    bucket: z.string().min(3),
    region: z.string().min(1).default('us-east-1'),
    endpoint: z.url({ protocol: /^https?$/ }).optional(),
    forcePathStyle: z.boolean().default(false),
    prefix: z
      .string()
      .regex(/^([\w.-]+\/)*$/, 'empty, or folders that end with a slash')
      .default(''),
  }),
])

const purpose = z.strictObject({
  maxBytes: z.int().min(1),
  types: z.array(z.string().regex(/^[a-z]+\/[\w.+-]+$/, 'a media type')).min(1),
})

export const fileSettings = z.strictObject({
  storage,
  purposes: z.record(z.enum(codesOf('filePurpose')), purpose).describe('What files of each purpose may be.'),
  orphanAfterMs: z
    .int()
    .min(60_000)
    .describe('How long the bytes of an upload that was never completed lie before they are deleted.'),
  sweepEveryMs: interval,
})

export const exportSettings = z.strictObject({
  lifeMs: z.int().min(1_000).describe('How long a completed export can be downloaded.'),
  pageSize: z.int().min(1).max(10_000).describe('Rows that are read at a time.'),
  attempts: z.int().min(1).describe('Tries before an export has failed.'),
  sweepEveryMs: interval,
})

export const jobSettings = z.strictObject({
  concurrency: z.int().min(1).describe('Jobs under way at once in a process.'),
  pollMs: z.int().min(10).describe('How often it looks for one.'),
  leaseMs: z.int().min(300).describe('How long a job of a process that was killed waits before another one takes it.'),
})

export const auditSettings = z.strictObject({
  sealEveryMs: interval.describe('How often new entries of the audit log are chained.'),
})
