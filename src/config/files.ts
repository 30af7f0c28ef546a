import { z } from 'zod'
import { filePurpose } from '../domains/files/contract.ts'
import { days } from '../kernel/index.ts'
import { httpUrl, lifetimeMs, timeoutMs } from './values.ts'

const storage = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z
      .literal('disk')
      .describe('Store files in the folder `blobs` of the data directory. Replicas must share that folder.'),
  }),
  z.strictObject({
    kind: z
      .literal('s3')
      .describe(
        'Store files in an S3-compatible store. Credentials come from the environment, a profile or the machine role.',
      ),
    bucket: z.string().min(3).describe('Name of an existing bucket.'),
    region: z.string().min(1).default('us-east-1').describe('Region of the bucket.'),
    endpoint: httpUrl.optional().describe('URL of the store if it is not AWS.'),
    timeoutMs: timeoutMs(100)
      .default(10_000)
      .describe(
        'Time limit in milliseconds for the store to respond to a request, which uploads at most 5 MB. It also limits the wait for the next bytes of a download. After it, the request fails with 503.',
      ),
    forcePathStyle: z
      .boolean()
      .default(false)
      .describe(
        'Whether the bucket is part of the path instead of the host name. Most stores other than AWS require `true`.',
      ),
    prefix: z
      .string()
      .regex(/^([\w.-]+\/)*$/, 'empty, or folder names that end with a slash')
      .default('')
      .describe('Prefix of every object name.'),
  }),
])

const purpose = z.strictObject({
  maxBytes: z.int().min(1).describe('Maximum size of a file in bytes. Larger uploads get 413.'),
  types: z
    .array(z.string().regex(/^[a-z]+\/[\w.+-]+$/, 'a media type'))
    .min(1)
    .describe(
      'Accepted media types. The library `file-type` detects the type from the content (`image/jpeg`, not `image/jpg`). `text/csv` and `text/plain` are also supported.',
    ),
})

export const fileSettings = z.strictObject({
  storage,
  purposes: z.record(z.enum(filePurpose.codes), purpose).describe('Accepted files by purpose.'),
  orphanAfterMs: lifetimeMs(60_000).describe(
    'Time in milliseconds after which the bytes of an incomplete upload are deleted.',
  ),
  sweepEveryMs: lifetimeMs(100).describe(
    'Interval in milliseconds at which the bytes of incomplete uploads are deleted.',
  ),
})

export const exportSettings = z.strictObject({
  lifeMs: lifetimeMs(1_000).describe('Time in milliseconds for which a completed export can be downloaded.'),
  pageSize: z.int().min(1).max(10_000).describe('Number of rows that an export reads per statement.'),
  attempts: z
    .int()
    .min(1)
    .describe(
      'Maximum number of attempts per export. The pause after the first attempt is one second, and each further pause is four times as long, up to five minutes.',
    ),
  sweepEveryMs: lifetimeMs(100).describe('Interval in milliseconds at which expired exports are deleted.'),
})

export const jobSettings = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .describe(
      'Maximum number of concurrent jobs per process. If it is above 1, exports never use the last slot, so that other jobs can run.',
    ),
  pollMs: timeoutMs(10).describe('Interval in milliseconds at which a process polls for jobs.'),
  leaseMs: timeoutMs(300).describe(
    'Time in milliseconds after which another process takes over a job if the process that ran it was killed.',
  ),
  failedRetentionMs: lifetimeMs(days(1))
    .multipleOf(days(1))
    .describe('Time in milliseconds for which a failed job stays in the table `jobs`. The value must be whole days.'),
})

export const auditSettings = z.strictObject({
  sealEveryMs: lifetimeMs(100).describe(
    'Interval in milliseconds at which new audit log entries are added to the hash chain.',
  ),
})
