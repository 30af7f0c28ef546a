import { z } from 'zod'
import { positive } from '../../config/values.ts'
import { filePurpose } from './contract.ts'

const purpose = z.strictObject({
  maxBytes: positive.describe('Maximum size in bytes of a file with this purpose. Larger uploads get 413.'),
  types: z
    .array(z.string().regex(/^[a-z]+\/[\w.+-]+$/, 'a media type'))
    .min(1)
    .describe(
      'Media types of accepted files, such as `image/jpeg`. Other files are rejected. The library `file-type` detects the type from the content. `text/csv` and `text/plain` are also supported: text in UTF-8, UTF-16 or a code page, whose type depends on the declared type and the name.',
    ),
})

export const fileSettings = z.strictObject({
  purposes: z
    .record(z.enum(filePurpose.codes), purpose)
    .describe('Accepted sizes and media types of files, by purpose.'),
  quotas: z.strictObject({
    account: quota('an account across all workspaces'),
    workspace: quota('a workspace'),
  }),
})

const images = ['image/png', 'image/jpeg', 'image/webp']
const documents = ['application/pdf', ...images]
const mebibyte = 1_024 ** 2

export const fileDefaults = {
  purposes: {
    RECHARGE_PROOF: { maxBytes: 25 * mebibyte, types: documents },
    // The content of text/csv and text/plain has no signature. Any text is accepted.
    DOCUMENT: { maxBytes: 25 * mebibyte, types: [...documents, 'text/csv', 'text/plain'] },
    AVATAR: { maxBytes: 2 * mebibyte, types: images },
  },
  quotas: {
    account: { filesPerDay: 500, bytesPerDay: 2_048 * mebibyte, files: 10_000, bytes: 20_480 * mebibyte },
    workspace: { filesPerDay: 2_000, bytesPerDay: 5_120 * mebibyte, files: 50_000, bytes: 102_400 * mebibyte },
  },
}

/** Days are UTC days. The quota of an account covers all workspaces. */
export type Quotas = z.output<typeof fileSettings>['quotas']
export type Quota = Quotas['account']

/** Files deleted today still count towards the daily quota, but not towards the total. */
export interface Usage {
  filesToday: number
  bytesToday: number
  files: number
  bytes: number
}

export function exceededPart(usage: Usage, quota: Quota): 'day' | 'total' | null {
  if (usage.files > quota.files || usage.bytes > quota.bytes) return 'total'
  return usage.filesToday > quota.filesPerDay || usage.bytesToday > quota.bytesPerDay ? 'day' : null
}

function quota(owner: string) {
  return z.strictObject({
    filesPerDay: positive.describe(
      `Maximum number of uploads by ${owner} per UTC day, deleted files included. Further uploads get 429.`,
    ),
    bytesPerDay: positive.describe(
      `Maximum total size in bytes of uploads by ${owner} per UTC day, deleted files included. Further uploads get 429.`,
    ),
    files: positive.describe(
      `Maximum number of files stored by ${owner}. Further uploads get 422 \`FILE.QUOTA_EXCEEDED\`.`,
    ),
    bytes: positive.describe(
      `Maximum total size in bytes of files stored by ${owner}. Further uploads get 422 \`FILE.QUOTA_EXCEEDED\`.`,
    ),
  })
}
