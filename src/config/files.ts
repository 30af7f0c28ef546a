import { z } from 'zod'
import { filePurpose } from '../banking/files/contract.ts'
import { days } from '../kernel/index.ts'
import { httpUrl, lifetimeMs, timeoutMs } from './values.ts'

const storage = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z
      .literal('disk')
      .describe('Stores files in the folder `blobs` of the data directory. All replicas must share that folder.'),
    minimumFreeBytes: z
      .int()
      .min(0)
      .default(67_108_864)
      .describe('Minimum free space in bytes on the disk that stores files. With less, uploads and exports get 503.'),
  }),
  z.strictObject({
    kind: z
      .literal('s3')
      .describe(
        'Stores files in an S3-compatible store. Credentials come from the environment, a profile or the machine role.',
      ),
    bucket: z.string().min(3).describe('Name of the S3 bucket, which must exist.'),
    region: z.string().min(1).default('us-east-1').describe('Region of the S3 bucket.'),
    endpoint: httpUrl.optional().describe('URL of the S3-compatible store. Without a value, Amazon S3 is used.'),
    timeoutMs: timeoutMs(100)
      .default(10_000)
      .describe(
        'Time limit in milliseconds for the file store to respond. If the store does not respond in time, the client gets 503. The limit applies to each part of an upload, of at most 5 MB, and to each wait for the next bytes of a download.',
      ),
    forcePathStyle: z
      .boolean()
      .default(false)
      .describe(
        'Whether URLs name the bucket in the path instead of the host name. Most stores other than Amazon S3 require `true`.',
      ),
    prefix: z
      .string()
      .regex(/^([\w.-]+\/)*$/, 'empty, or folder names that end with a slash')
      .default('')
      .describe('Prefix of every object key in the bucket, such as `portico/`.'),
  }),
])

const purpose = z.strictObject({
  maxBytes: z.int().min(1).describe('Maximum size in bytes of a file with this purpose. Larger uploads get 413.'),
  types: z
    .array(z.string().regex(/^[a-z]+\/[\w.+-]+$/, 'a media type'))
    .min(1)
    .describe(
      'Media types of accepted files, such as `image/jpeg`. Other files are rejected. The library `file-type` detects the type from the content; `text/csv` and `text/plain` are also supported.',
    ),
})

const quota = (owner: string) =>
  z.strictObject({
    filesPerDay: z
      .int()
      .min(1)
      .describe(`Maximum number of uploads by ${owner} per UTC day, deleted files included. Further uploads get 429.`),
    bytesPerDay: z
      .int()
      .min(1)
      .describe(
        `Maximum total size in bytes of uploads by ${owner} per UTC day, deleted files included. Further uploads get 429.`,
      ),
    files: z
      .int()
      .min(1)
      .describe(`Maximum number of files stored by ${owner}. Further uploads get 422 \`FILE.QUOTA_EXCEEDED\`.`),
    bytes: z
      .int()
      .min(1)
      .describe(
        `Maximum total size in bytes of files stored by ${owner}. Further uploads get 422 \`FILE.QUOTA_EXCEEDED\`.`,
      ),
  })

export const fileSettings = z.strictObject({
  storage,
  purposes: z
    .record(z.enum(filePurpose.codes), purpose)
    .describe('Accepted sizes and media types of files, by purpose.'),
  quotas: z.strictObject({
    account: quota('an account across all workspaces'),
    workspace: quota('a workspace'),
  }),
})

export const exportSettings = z.strictObject({
  lifeMs: lifetimeMs(1_000).describe(
    'Time in milliseconds for which a completed export can be downloaded. Afterwards, the export is deleted.',
  ),
})

export const jobSettings = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .describe(
      'Maximum number of concurrent background jobs per process. Further jobs wait. If the value is above 1, exports never use the last slot, so that other jobs can run.',
    ),
  failedRetentionMs: lifetimeMs(days(1))
    .multipleOf(days(1))
    .describe(
      'Time in milliseconds for which a failed job stays in the table `jobs`. Afterwards, the job is deleted. The value must be a whole number of days.',
    ),
})
