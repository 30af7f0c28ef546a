import { inTransaction } from '../../database/index.ts'
import { addMs, invalid, type RequestContext, wholeMinutes } from '../../kernel/index.ts'
import { actBy, recordAct } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/account.ts'
import { accountByEmail } from '../accounts/store.ts'
import { addressSubject, mailQuota } from '../login/mail-quota.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { mintToken } from '../tokens/opaque-token.ts'
import { insertPasswordToken } from './token-store.ts'

const mayReset = (account: Account | undefined): account is Account =>
  account?.status === 'ACTIVE' || account?.status === 'PENDING_APPROVAL'

/**
 * Takes the wish for a reset link. What an answer could tell is the same for every address: it is counted, and then the
 * look-up, the token and the mail happen in the background.
 */
export const forgotPassword = (ports: IdentityPorts, { passwords: settings, portals }: IdentitySettings) => {
  const { background, cache, clock, database, digest, mailer, randomness, robots } = ports
  const quota = mailQuota(cache, 'forgot', (portal) => portals[portal].forgot)

  const sendLink = async (facts: RequestContext, email: string): Promise<void> => {
    const { portal, locale } = facts
    const account = await accountByEmail(database, portal, email)
    if (!mayReset(account)) return
    const token = mintToken(randomness)
    const now = clock.now()
    const kept = { digest: digest('password-token', token), portal, accountId: account.id, purpose: 'RESET' } as const
    await inTransaction(database, async (tx) => {
      await insertPasswordToken(tx, { ...kept, expiresAt: addMs(now, settings.resetTtlMs) }, now)
      // Whoever asks has not said who they are: the account is what it is about.
      await recordAct(tx, actBy(null, facts, now), { workspaceId: null, targetId: account.id })
    })
    // The token is in the fragment, which no server and no Referer header gets to see.
    const url = `${portals[portal].links.passwordReset}#token=${token}`
    const minutes = String(wholeMinutes(settings.resetTtlMs))
    await mailer.send({ to: account.email, template: 'password-reset', locale, values: { url, minutes } })
  }

  return async (facts: RequestContext, email: string, turnstileToken: string): Promise<void> => {
    if (!(await robots.passes(turnstileToken, facts.clientIp))) throw invalid('turnstileToken')
    await quota(facts.portal, addressSubject(digest, email))
    background.run('password-forgot', () => sendLink(facts, email))
  }
}
