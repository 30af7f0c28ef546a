import type { Instant, WorkspaceId } from '../../kernel/index.ts'
import { moment, type Tx } from '../../platform/database/index.ts'
import type { InvitationSettings } from './rules.ts'

/**
 * The invitation since an instant that has to be left behind before a workspace may make another one to an address: where
 * as many as may were made since, to everybody or to that one, when the earliest of them was; null where there is room.
 */
export const fullSince = async (
  tx: Tx,
  workspaceId: WorkspaceId,
  email: string,
  since: Instant,
  { maxPerDay, maxPerDayToAddress }: Pick<InvitationSettings, 'maxPerDay' | 'maxPerDayToAddress'>,
): Promise<Instant | null> => {
  const newest = tx
    .selectFrom('invitations')
    .select('created_at')
    .where('workspace_biz_id', '=', workspaceId)
    .where('created_at', '>', moment(since))
    .orderBy('created_at', 'desc')
    .limit(1)
  const ofAll = await newest.offset(maxPerDay - 1).executeTakeFirst()
  const toAddress = newest.where('invitee_email', '=', email).offset(maxPerDayToAddress - 1)
  const ofAddress = await toAddress.executeTakeFirst()
  const full = [ofAll, ofAddress].flatMap((row) => (row ? [row.created_at] : []))
  return full.reduce<Instant | null>((latest, at) => (latest === null || at > latest ? at : latest), null)
}

/** How many of a workspace still wait. */
export const countPending = async (tx: Tx, workspaceId: WorkspaceId, at: Instant): Promise<number> => {
  const { pending } = await tx
    .selectFrom('invitations')
    .where('workspace_biz_id', '=', workspaceId)
    .where('invitation_status', '=', 'PENDING')
    .where('expires_at', '>', moment(at))
    .select((eb) => eb.fn.countAll<number>().as('pending'))
    .executeTakeFirstOrThrow()
  return pending
}
