import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  addMs,
  type Ids,
  notFound,
  Refusal,
  type RequestContext,
  type StreamReply,
  type Upload,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { addUnnamed, type Blobs, download, nameBlob } from '../../platform/blobs/index.ts'
import type { FilePurpose } from './contract.ts'
import { readForm } from './form.ts'
import { receive } from './receive.ts'
import { greatest, judgePurpose, type PurposeRules, purposeOf } from './rules.ts'
import { type FileRow, fileById, insertFile } from './store.ts'

export interface FilePorts {
  database: Database
  blobs: Blobs
  ids: Ids
  purposes: PurposeRules
  /** How long bytes lie that no row has named. */
  orphanAfterMs: number
}

const record = (ports: FilePorts, act: Act, workspaceId: WorkspaceId, file: Omit<FileRow, 'status'>) =>
  inTransaction(ports.database, async (tx) => {
    if (!(await nameBlob(tx, file.blobKey)))
      throw new Refusal('SYSTEM.UNAVAILABLE', {
        retryAfter: 1,
        internal: 'the bytes were swept before a row named them',
      })
    await insertFile(tx, { ...file, workspaceId, createdBy: act.accountId })
    const { purpose, contentType, sizeBytes } = file
    await recordAct(tx, act, { workspaceId, targetId: file.id, detail: { purpose, contentType, sizeBytes } })
  })

/** Takes an upload's bytes into the store, if its form and its purpose let them; a refused or broken one leaves nothing. */
const take = async ({ blobs, purposes }: FilePorts, blobKey: string, form: Upload) => {
  const maxBytes = greatest(purposes)
  let isStored = false
  try {
    const { purpose: named, taken } = await readForm(form, maxBytes, async (part) => {
      const received = await receive(blobs, blobKey, part, maxBytes)
      isStored = true
      return received
    })
    const purpose: FilePurpose = purposeOf(named)
    judgePurpose(purposes[purpose], { size: taken.sizeBytes, type: taken.contentType })
    return { ...taken, purpose }
  } catch (error) {
    // What was wrong with the upload is the answer, also where its bytes are the sweep's.
    if (isStored) await blobs.delete(blobKey).catch(() => undefined)
    throw error
  }
}

/**
 * Takes an upload and writes its row. Where the row fails it may be there all the same, with only the answer lost: the
 * bytes are the sweep's then, unless that row has named them.
 */
export const upload = async (ports: FilePorts, act: Act, workspaceId: WorkspaceId, form: Upload): Promise<FileRow> => {
  const blobKey = `files/${ports.ids.next<'blob'>()}`
  await addUnnamed(ports.database, [blobKey], addMs(act.at, ports.orphanAfterMs))
  const file = { ...(await take(ports, blobKey, form)), id: ports.ids.next<'file'>(), createdAt: act.at }
  await record(ports, act, workspaceId, file)
  return { ...file, status: 'AVAILABLE' }
}

/** A file of the workspace that can still be had. */
export const fileOf = async (
  store: Database | Tx,
  workspaceId: WorkspaceId,
  fileId: string,
): Promise<FileRow | undefined> => {
  const file = await fileById(store, workspaceId, fileId)
  return file?.status === 'AVAILABLE' ? file : undefined
}

export const read = async ({ database }: FilePorts, workspaceId: WorkspaceId, fileId: string): Promise<FileRow> => {
  const file = await fileOf(database, workspaceId, fileId)
  if (!file) throw notFound('no such file')
  return file
}

export const open = async (
  ports: FilePorts,
  workspaceId: WorkspaceId,
  fileId: string,
  asked: Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange'>,
): Promise<StreamReply> => {
  const file = await read(ports, workspaceId, fileId)
  return download(ports.blobs, { ...file, key: file.blobKey }, asked)
}
