import * as z from 'zod'
import { bizId, coded, Link, nothing, timestamp } from '../../contract/fields.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'

export const summary = 'File upload and download.'

export const permissions = {
  workspace: { file: { sortOrder: 1200, actions: ['read', 'upload', 'delete'] } },
} as const satisfies Permissions

export const codes = {
  'FILE.QUOTA_EXCEEDED': { status: 422 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    files: typeof codes
  }
}

export const fileStatus = codedFamily('fileStatus', { AVAILABLE: 10091401, DELETED: 10091402 })
export type FileStatus = CodeOf<typeof fileStatus>

export const filePurpose = codedFamily('filePurpose', {
  RECHARGE_PROOF: 10091501,
  DOCUMENT: 10091502,
  AVATAR: 10091503,
})
export type FilePurpose = CodeOf<typeof filePurpose>

/** See `CodeDomains` in src/contract/catalogue.ts. */
export const codeDomains = { filePurpose: { RECHARGE_PROOF: 'recharges' } }

const File = z.object({
  bizId,
  fileName: z.string(),
  contentType: z.string(),
  sizeBytes: z.int(),
  sha256: z.string(),
  purpose: coded(filePurpose),
  fileStatus: coded(fileStatus),
  createdAt: timestamp,
})

const reading = { ...member, workspace: 'optional', permission: 'file:read' } as const
const get = { method: 'GET', chains: ['consumer'], body: 'none' } as const

export const readFile = operation({
  ...get,
  id: 'files.read',
  path: '/files/{file_id}',
  summary: 'Read the metadata of a file',
  policy: reading,
  reply: File,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const downloadFile = operation({
  ...get,
  id: 'files.download',
  path: '/files/{file_id}/download',
  summary: 'Download a file',
  policy: { ...reading, channel: 'none' },
  reply: 'stream',
  refuses: ['RESOURCE.NOT_FOUND', 'FILE.RANGE_NOT_SATISFIABLE'],
})

export const linkFile = operation({
  id: 'files.link',
  method: 'POST',
  path: '/files/{file_id}/link',
  chains: ['consumer'],
  summary: 'Create a one-time URL of a file for a link or an image',
  policy: reading,
  body: 'none',
  reply: Link,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const uploadFile = operation({
  id: 'files.upload',
  method: 'POST',
  path: '/files/upload',
  chains: ['consumer'],
  summary: 'Upload a file as a form with `file` and `purpose`',
  policy: { ...member, workspace: 'optional', permission: 'file:upload', channel: 'none' },
  body: 'multipart',
  reply: File,
  refuses: ['FILE.QUOTA_EXCEEDED'],
})

export const deleteFile = operation({
  id: 'files.delete',
  method: 'POST',
  path: '/files/{file_id}/delete',
  chains: ['consumer'],
  summary: 'Delete a file that is not a proof of payment',
  policy: { ...member, workspace: 'optional', permission: 'file:delete' },
  body: 'none',
  reply: nothing,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})
