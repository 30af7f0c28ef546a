import { inTransaction } from '../../database/index.ts'
import { notFound, type OrderId, type RequestContext, type StreamReply } from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { download } from '../../platform/blobs/index.ts'
import { rechargeOf } from './recharge.ts'
import { type RechargesPorts, read } from './service.ts'

/** The bytes of a recharge's proof, of any workspace, for who decides over it; and a line in the audit log of who asks for them. */
export const openProof = async (
  ports: RechargesPorts,
  act: Act,
  id: OrderId,
  asked: Pick<RequestContext, 'range' | 'ifNoneMatch' | 'ifRange' | 'headOnly'>,
): Promise<StreamReply> => {
  const order = await read(ports, id, null)
  const { proofFileBizId: proof } = rechargeOf(order).told
  const file = proof === null ? undefined : await ports.fileOf(order.workspaceBizId, proof)
  if (!file) throw notFound('the recharge has no proof that can be had')
  if (!asked.headOnly)
    await inTransaction(ports.database, (tx) => recordAct(tx, act, { workspaceId: order.workspaceBizId, targetId: id }))
  return download(ports.blobs, file, asked)
}
