import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  canonicalEmail,
  conflict,
  days,
  type Ids,
  type Instant,
  type Portal,
} from '../../kernel/index.ts'
import { accountByEmail } from '../accounts/store.ts'
import type { Providers } from './ports.ts'
import { type NewInvitation, putInvitation } from './store.ts'

export interface Invitation {
  portal: Portal
  providerId: string
  email: string
  invitedBy: AccountId
}

const lifetimeMs = days(7)

/**
 * Lets a person create an account by a sign-in with a provider. Throws STATE.CONFLICT if the address has an account, or the
 * provider needs no invitation.
 */
export async function invite(
  { ids, providers }: { ids: Ids; providers: Providers },
  tx: Tx,
  { portal, providerId, email, invitedBy }: Invitation,
  at: Instant,
): Promise<NewInvitation> {
  const { settings } = providers.find(portal, providerId)
  if (settings.provisioning !== 'invited') throw conflict('the provider takes no invitations')
  if (await accountByEmail(tx, portal, email)) throw conflict('the address has an account')
  const invitation = {
    ...{ id: ids.next<'invitation'>(), portal, providerId, invitedBy },
    ...{ emailCanonical: canonicalEmail(email), expiresAt: addMs(at, lifetimeMs) },
  }
  await putInvitation(tx, invitation, at)
  return invitation
}
