import { inTransaction } from '../../database/index.ts'
import { notFound, type OrderId, type RequestContext, type StreamReply } from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { download } from '../../platform/blobs/index.ts'
import { toRecharge } from './order.ts'
import { type RechargesPorts, readRecharge } from './service.ts'

/** The file of a recharge's proof, for operators. Records the download in the audit log. */
export const downloadRechargeProof = async (
  ports: RechargesPorts,
  { id, request }: { id: OrderId; request: Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange' | 'headOnly'> },
  act: AuditContext,
): Promise<StreamReply> => {
  const order = await readRecharge(ports, { id, workspace: null })
  const { proofFileBizId } = toRecharge(order).details
  const file = proofFileBizId === null ? undefined : await ports.fileOf(order.workspaceBizId, proofFileBizId)
  if (!file) throw notFound('the recharge has no available proof')
  if (!request.headOnly)
    await inTransaction(ports.database, (tx) =>
      recordSuccess(tx, act, { workspaceId: order.workspaceBizId, targetId: id }),
    )
  return download(ports.blobs, file, request)
}
