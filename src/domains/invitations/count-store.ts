import type { Instant, WorkspaceId } from '../../kernel/index.ts'
import { moment, type Tx } from '../../platform/database/index.ts'
import type { InvitationSettings } from './rules.ts'

/** A limit of a day's invitations that is used up. */
export interface FullLimit {
  name: 'invitations' | 'invitations-to-address'
  limit: number
  /** When the invitation was made that has to be left behind before another one is let in. */
  since: Instant
}

/**
 * The limit that keeps a workspace from another invitation to an address, by those made since an instant: to everybody, or
 * to that one. Of both it is the one that lasts longer; null where there is room.
 */
export const fullLimit = async (
  tx: Tx,
  workspaceId: WorkspaceId,
  email: string,
  since: Instant,
  { maxPerDay, maxPerDayToAddress }: Pick<InvitationSettings, 'maxPerDay' | 'maxPerDayToAddress'>,
): Promise<FullLimit | null> => {
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
  const all = ofAll && ({ name: 'invitations', limit: maxPerDay, since: ofAll.created_at } as const)
  const address =
    ofAddress && ({ name: 'invitations-to-address', limit: maxPerDayToAddress, since: ofAddress.created_at } as const)
  if (all && address) return address.since > all.since ? address : all
  return all ?? address ?? null
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
