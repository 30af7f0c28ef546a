import { run } from '../database/index.ts'
import type { AccountId, Instant, Portal } from '../kernel/index.ts'
import { accountById } from './accounts/store.ts'
import { Lockout } from './lockout/service.ts'
import { factorsOf } from './mfa/service.ts'
import type { IdentityPorts } from './ports.ts'
import { type LoginHistoryEntry, listLoginHistory } from './sessions/history-store.ts'
import { type ActiveSession, listActiveSessions, readSessionConfiguration } from './sessions/store.ts'
import type { IdentitySettings } from './settings.ts'

/** How an account signs in, for an operator at the command line. */
export interface AccountOverview {
  hasPassword: boolean
  passwordChangedAt: Instant | null
  /** Null without an authenticator. */
  authenticatorSince: Instant | null
  backupCodes: number
  /** Without suspended ones. */
  passkeys: number
  ipWhitelistEnabled: boolean
  /** The end of each lockout, by what is locked. */
  lockouts: { subject: 'sign-in' | 'codes' | 'password reset'; until: Instant }[]
  /** Newest first. */
  sessions: ActiveSession[]
  signIns: LoginHistoryEntry[]
}

const shownSignIns = 10

/** Resolves with undefined if the account does not exist. */
export async function readAccountOverview(
  { database, clock, digest }: Pick<IdentityPorts, 'database' | 'clock' | 'digest'>,
  { login, portals }: Pick<IdentitySettings, 'login' | 'portals'>,
  { portal, id }: { portal: Portal; id: AccountId },
): Promise<AccountOverview | undefined> {
  const account = await accountById(database, portal, id)
  if (!account) return undefined
  const lockout = new Lockout({ database, clock, digest }, login.failures)
  const subjects = {
    'sign-in': lockout.loginSubject(portal, account.email, null),
    codes: lockout.factorSubject(portal, id),
    'password reset': lockout.resetSubject(portal, id),
  } as const
  const lockoutsOf = async (subject: keyof typeof subjects) =>
    (await lockout.lockoutsOfAllDevices(subjects[subject])).map((until) => ({ subject, until }))
  const { otp, backup, passkeys } = await run(database, factorsOf({ portals }, account))
  const history = { portal, accountId: id, from: undefined, until: undefined, sortOrder: 'desc' } as const
  const signIns = await listLoginHistory(database, { ...history, currentPage: 1, pageSize: shownSignIns })
  return {
    hasPassword: account.passwordHash !== null,
    passwordChangedAt: (await readSessionConfiguration(database, portal, id))?.passwordChangedAt ?? null,
    authenticatorSince: otp?.secret ? otp.verifiedAt : null,
    backupCodes: backup.remainingCount,
    passkeys: passkeys.filter(({ suspendedAt }) => suspendedAt === null).length,
    ipWhitelistEnabled: account.ipWhitelistEnabled,
    lockouts: [
      ...(await lockoutsOf('sign-in')),
      ...(await lockoutsOf('codes')),
      ...(await lockoutsOf('password reset')),
    ],
    sessions: await listActiveSessions(database, portal, id, clock.now()),
    signIns: signIns.items,
  }
}
