import { type Database, inTransaction } from '../../database/index.ts'
import {
  type Ids,
  notFound,
  Refusal,
  type RequestContext,
  type StreamReply,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { type Blobs, download } from '../../platform/blobs/index.ts'
import { enqueueJob } from '../../platform/jobs/index.ts'
import type { ExportFormat, ExportType } from './contract.ts'
import { formats } from './formats.ts'
import { demandListRight } from './rules.ts'
import { type ExportRow, exportById, insertExport, type Viewer } from './store.ts'

export interface ExportPorts {
  database: Database
  blobs: Blobs
  ids: Ids
}

export const exportJobName = 'exports.run'

interface AskedExport {
  type: ExportType
  format: ExportFormat
  filters: object
}

/** Takes the order for an export; a job carries it out. */
export const create = (
  { database, ids }: ExportPorts,
  act: Act,
  workspace: WorkspaceAccess,
  asked: AskedExport,
): Promise<ExportRow> => {
  demandListRight(asked.type, workspace)
  return inTransaction(database, async (tx) => {
    const id = ids.next<'export'>()
    const workspaceId = workspace.id
    const made = await insertExport(tx, { ...asked, id, workspaceId, createdBy: act.accountId, createdAt: act.at })
    await enqueueJob(tx, ids, { kind: exportJobName, payload: { workspaceId, exportId: id }, at: act.at })
    const detail = { exportType: asked.type, format: asked.format }
    await recordAct(tx, act, { workspaceId, targetId: id, detail })
    return made
  })
}

export const read = async ({ database }: ExportPorts, viewer: Viewer, id: string): Promise<ExportRow> => {
  const found = await exportById(database, viewer, id)
  if (!found) throw notFound('no such export')
  return found
}

/** The bytes of a completed export, for somebody who may read the list today; and a line in the audit log of whoever asks for them. */
export const open = async (
  ports: ExportPorts,
  act: Act,
  workspace: WorkspaceAccess,
  id: string,
  asked: Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange' | 'headOnly'>,
): Promise<StreamReply> => {
  const found = await read(ports, { workspace: workspace.id, account: act.accountId, at: act.at }, id)
  demandListRight(found.type, workspace)
  const { status, blobKey, fileName, sizeBytes, sha256 } = found
  if (status !== 'COMPLETED' || blobKey === null || fileName === null || sizeBytes === null || sha256 === null)
    throw new Refusal('STATE.CONFLICT', { internal: `the export is ${status}` })
  const { contentType } = formats[found.format]
  if (!asked.headOnly)
    await inTransaction(ports.database, (tx) => recordAct(tx, act, { workspaceId: workspace.id, targetId: id }))
  return download(ports.blobs, { key: blobKey, fileName, contentType, sizeBytes, sha256 }, asked)
}
