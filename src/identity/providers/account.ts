import { accountMailbox } from '../../contract/account-fields.ts'
import { line } from '../../contract/fields.ts'
import type { Tx } from '../../database/index.ts'
import {
  canonicalEmail,
  hasWorkspaces,
  type Instant,
  isAcceptedMailbox,
  isInDomains,
  Refusal,
  type RequestContext,
} from '../../kernel/index.ts'
import { insertAccount, type NewAccount } from '../accounts/store.ts'
import { rulesOf } from '../settings.ts'
import type { ProviderPorts } from './ports.ts'
import type { VerifiedIdentity } from './protocol/exchange.ts'
import type { ProviderSettings } from './settings.ts'
import { spendInvitation } from './store.ts'

/** As in a registration. */
const maxNameLength = 128

/**
 * Creates an account without permissions for a person who signs in for the first time. Throws AUTH.PROVIDER_NOT_LINKED,
 * without provisioning, an invitation, a verified address or a free one.
 */
export async function createProvidedAccount(
  ports: ProviderPorts,
  tx: Tx,
  settings: ProviderSettings,
  { claims }: VerifiedIdentity,
  context: RequestContext,
  now: Instant,
): Promise<NewAccount> {
  const { portal, id: providerId, provisioning } = settings
  if (provisioning === 'none') throw notLinked('the provider creates no accounts')
  const email = verifiedEmail(ports, settings, claims)
  const invitation = { portal, providerId, emailCanonical: canonicalEmail(email) }
  if (provisioning === 'invited' && !(await spendInvitation(tx, invitation, now))) throw notLinked('no invitation')
  const { data: name = email } = line(maxNameLength).safeParse(claims[settings.claims.name])
  const country = ports.isCountry(context.country) ? context.country : 'US'
  const isApproved = !hasWorkspaces(portal) || rulesOf(ports.settings, portal).selfRegistration !== 'approval'
  const account: NewAccount = {
    id: ports.ids.next<'account'>(),
    portal,
    institutionId: ports.ids.next<'institution'>(),
    status: isApproved ? 'ACTIVE' : 'PENDING_APPROVAL',
    email,
    emailVerifiedAt: now,
    name,
    phone: '',
    passwordHash: null,
    ...{ language: context.locale, timezone: 'UTC', country },
    maxSessions: ports.settings.sessions.maxConcurrent,
    operatorPermissions: [],
  }
  if (!(await insertAccount(tx, account, now))) throw notLinked('the address has an account')
  if (hasWorkspaces(portal)) {
    const opening = { ownerId: account.id, name: account.name, kind: 'LIVE', joinSource: 'REGISTRATION' } as const
    await ports.openWorkspace(tx, { ...opening, at: now })
  }
  return account
}

function notLinked(internal: string): Refusal {
  return new Refusal('AUTH.PROVIDER_NOT_LINKED', { internal })
}

function verifiedEmail(
  { settings }: ProviderPorts,
  { portal, claims: names }: ProviderSettings,
  claims: VerifiedIdentity['claims'],
): string {
  const isVerified = names.emailVerified === null || claims[names.emailVerified] === true
  const { data: email } = accountMailbox.safeParse(claims[names.email])
  if (!isVerified || email === undefined) throw notLinked('no verified address')
  const isRefused = hasWorkspaces(portal) && isInDomains(email, rulesOf(settings, portal).refusedDomains)
  if (isRefused || !isAcceptedMailbox(email, settings.carrierDomains))
    throw notLinked('an address that cannot register')
  return email
}
