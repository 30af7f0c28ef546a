import { moment, type Tx } from '../../database/index.ts'
import type { AccountId, Instant, WorkspaceId } from '../../kernel/index.ts'
import type { InvitationSettings } from './rules.ts'

/** A limit of a day's invitations that is used up. */
export interface FullLimit {
  name: 'invitations' | 'invitations-of-account' | 'invitations-to-address'
  limit: number
  /** When the invitation was made that has to be left behind before another one is let in. */
  since: Instant
}

interface Asked {
  workspaceId: WorkspaceId
  inviterId: AccountId
  email: string
}

/**
 * The limit that keeps a workspace, or who invites, from another invitation to an address, by those made since an instant, to
 * everybody or to that one. Who invites is counted over all workspaces that they belong to: nobody is to send the more the
 * more workspaces they make. Of several it is the one that lasts longest; null where there is room.
 */
export const fullLimit = async (
  tx: Tx,
  { workspaceId, inviterId, email }: Asked,
  since: Instant,
  { maxPerDay, maxPerDayToAddress }: Pick<InvitationSettings, 'maxPerDay' | 'maxPerDayToAddress'>,
): Promise<FullLimit | null> => {
  const newest = tx
    .selectFrom('invitations')
    .select('created_at')
    .where('created_at', '>', moment(since))
    .orderBy('created_at', 'desc')
    .limit(1)
  const ofWorkspace = newest.where('workspace_biz_id', '=', workspaceId)
  const ofInviter = newest
    .where('inviter_biz_id', '=', inviterId)
    .where('workspace_biz_id', 'in', (eb) =>
      eb.selectFrom('memberships').select('workspace_biz_id').where('account_biz_id', '=', inviterId),
    )
  const rules = [
    { name: 'invitations', limit: maxPerDay, made: ofWorkspace },
    { name: 'invitations-of-account', limit: maxPerDay, made: ofInviter },
    { name: 'invitations-to-address', limit: maxPerDayToAddress, made: ofWorkspace.where('invitee_email', '=', email) },
    { name: 'invitations-to-address', limit: maxPerDayToAddress, made: ofInviter.where('invitee_email', '=', email) },
  ] as const
  let longest: FullLimit | null = null
  for (const { name, limit, made } of rules) {
    const oldest = await made.offset(limit - 1).executeTakeFirst()
    if (oldest && (longest === null || oldest.created_at > longest.since))
      longest = { name, limit, since: oldest.created_at }
  }
  return longest
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
