import type { Instant, WorkspaceId } from '../../kernel/index.ts'
import { moment, type Tx } from '../../platform/database/index.ts'

/** How many a workspace has made since an instant, to everybody and to one address; and how many still wait. */
export const countMade = async (
  tx: Tx,
  workspaceId: WorkspaceId,
  email: string,
  { since, at }: { since: Instant; at: Instant },
): Promise<{ all: number; toAddress: number; pending: number }> => {
  const own = tx.selectFrom('invitations').where('workspace_biz_id', '=', workspaceId)
  const made = await own
    .where('created_at', '>', moment(since))
    .select((eb) => [
      eb.fn.countAll<number>().as('all'),
      eb.fn.countAll<number>().filterWhere('invitee_email', '=', email).as('toAddress'),
    ])
    .executeTakeFirstOrThrow()
  const { pending } = await own
    .where('invitation_status', '=', 'PENDING')
    .where('expires_at', '>', moment(at))
    .select((eb) => eb.fn.countAll<number>().as('pending'))
    .executeTakeFirstOrThrow()
  return { ...made, pending }
}
