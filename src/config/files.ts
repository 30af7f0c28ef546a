import { z } from 'zod'
import { filePurpose } from '../domains/files/contract.ts'
import { days } from '../kernel/index.ts'
import { httpUrl } from './addresses.ts'
import { lifetimeMs, timeoutMs } from './values.ts'

const storage = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('disk').describe('`blobs` in the data directory, which replicas then have to share.'),
  }),
  z.strictObject({
    kind: z
      .literal('s3')
      .describe('Any S3-compatible store; credentials come from the environment, a profile or the machine’s role.'),
    bucket: z.string().min(3).describe('It has to be there.'),
    region: z.string().min(1).default('us-east-1').describe('Of the bucket.'),
    endpoint: httpUrl.optional().describe('Where the store is, if it is not AWS.'),
    timeoutMs: timeoutMs(100)
      .default(10_000)
      .describe(
        'For the store to take a request, a part of 5 MB at most, and answer it; and for the next bytes of a download.',
      ),
    forcePathStyle: z.boolean().default(false).describe('Whether the bucket stands in the path, not in the host.'),
    prefix: z
      .string()
      .regex(/^([\w.-]+\/)*$/, 'empty, or folders that end with a slash')
      .default('')
      .describe('Before the name of every object.'),
  }),
])

const purpose = z.strictObject({
  maxBytes: z.int().min(1).describe('A larger file is refused.'),
  types: z
    .array(z.string().regex(/^[a-z]+\/[\w.+-]+$/, 'a media type'))
    .min(1)
    .describe(
      'Media types that are taken, as the library `file-type` tells them by the content (`image/jpeg`, never `image/jpg`), and `text/csv` and `text/plain`; what else stands here is never taken.',
    ),
})

export const fileSettings = z.strictObject({
  storage,
  purposes: z.record(z.enum(filePurpose.codes), purpose).describe('What files of each purpose may be.'),
  orphanAfterMs: lifetimeMs(60_000).describe(
    'How long the bytes of an upload that was never completed lie before they are deleted.',
  ),
  sweepEveryMs: lifetimeMs(100).describe('How often such bytes are looked for.'),
})

export const exportSettings = z.strictObject({
  lifeMs: lifetimeMs(1_000).describe('How long a completed export can be downloaded.'),
  pageSize: z.int().min(1).max(10_000).describe('Rows that are read at a time.'),
  attempts: z
    .int()
    .min(1)
    .describe('Tries before an export has failed, with pauses that grow fourfold from one second up to five minutes.'),
  sweepEveryMs: lifetimeMs(100).describe('How often exports that have had their time are deleted.'),
})

export const jobSettings = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .describe('Jobs under way at once in a process; where there are several, exports leave one to the others.'),
  pollMs: timeoutMs(10).describe('How often it looks for one.'),
  leaseMs: timeoutMs(300).describe('How long a job of a process that was killed waits before another one takes it.'),
  failedKeptMs: lifetimeMs(days(1))
    .multipleOf(days(1))
    .describe('How long one that was given up stays in the table `jobs`, with its failure: whole days.'),
})

export const auditSettings = z.strictObject({
  sealEveryMs: lifetimeMs(100).describe('How often new entries of the audit log are chained.'),
})
