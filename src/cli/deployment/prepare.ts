import { openWorkspace } from '../../banking/workspaces/index.ts'
import { catalogueOf, loadConfigured } from '../../compose/extensions.ts'
import { loadConfiguration } from '../../config/index.ts'
import { inTransaction } from '../../database/index.ts'
import { accountByEmail, enrollAuthenticator, provideAccount } from '../../identity/index.ts'
import { money } from '../../kernel/index.ts'
import { createLedger } from '../../ledger/index.ts'
import { seededAccounts, type TestAccount } from '../../load/accounts.ts'
import { createKeyedDigest, createPasswordHasher, createSecretBox } from '../../platform/crypto/index.ts'
import { systemClock, systemIds, systemRandomness } from '../../platform/runtime/index.ts'
import { assertDomains, type CommandContext, UsageError } from '../command.ts'
import { membersIn } from '../people/members.ts'
import { auditCommand, storePorts, withExistingStore } from '../store.ts'

const name = 'load --prepare'
const audited = { command: name, reason: 'accounts of a load test' }

/** Enough for 10,000 transfers. */
const funds = 1_000_000n

/**
 * Creates accounts with a funded workspace in the store of a running development gateway. Their addresses end with
 * `@load.test`, and each has an audit entry. Only that gateway seeds demo accounts, and production does not start on a
 * store that has them. Throws a UsageError that names what is missing.
 */
export async function prepareAccounts(
  count: number,
  { domains, variables }: Pick<CommandContext, 'domains' | 'variables'>,
): Promise<TestAccount[]> {
  const settings = loadConfiguration(variables, domains)
  if (settings.profile === 'production')
    throw new UsageError('--prepare creates money, so it works only in the development profile; use --accounts')
  if (settings.databaseUrl === null)
    throw new UsageError('--prepare needs the DATABASE_URL of the gateway, which locks an embedded store')
  const { domains: loaded } = await loadConfigured(domains, settings)
  assertDomains(name, ['profile', 'workspaces', 'members', 'wallets', 'transfers'], loaded)
  const [currency = ''] = settings.money.currencies
  const keys = settings.secretKeys.reveal()
  const secrets = {
    digest: createKeyedDigest(keys),
    secretBox: createSecretBox(keys, systemRandomness),
    randomness: systemRandomness,
  }
  const passwords = createPasswordHasher({ concurrency: 1, waiting: 1 }, systemRandomness)
  return withExistingStore(settings, async ({ database }) => {
    const [seeded] = seededAccounts
    const demo = seeded && (await accountByEmail(database, 'CONSUMER', seeded.email))
    const isSeeded = seeded && demo?.status === 'ACTIVE' && (await passwords.verify(demo.passwordHash, seeded.password))
    if (!isSeeded)
      throw new UsageError('--prepare needs the store of a development gateway: DATABASE_URL has no demo accounts')
    const shared = storePorts(database)
    const ledger = createLedger({ ...shared, types: catalogueOf(loaded).ledgerTypes })
    const { memberships: members } = membersIn(database, loaded, settings)
    const run = systemIds.next()
    const accounts: TestAccount[] = []
    for (let number = 1; number <= count; number++) {
      const email = `${number}-${run}@load.test`
      const password = Buffer.from(systemRandomness.bytes(18)).toString('base64url')
      const account = { portal: 'CONSUMER', email, password, name: `Load test ${number}` } as const
      const ports = { ...shared, passwords, maxSessions: settings.sessions.maxConcurrent }
      const totpSecret = await inTransaction(database, async (tx) => {
        const at = systemClock.now()
        const { accountId: id } = await provideAccount(ports, account, tx)
        const opening = { ownerId: id, name: account.name, kind: 'LIVE', joinSource: 'REGISTRATION', at } as const
        const { workspaceId } = await openWorkspace({ ...shared, members }, opening, tx)
        const wallet = { bizId: systemIds.next<'wallet'>(), workspaceBizId: workspaceId, walletName: 'Load', currency }
        await ledger.within(tx).openWallet({ ...wallet, isDefault: true, at })
        const amount = money(funds, currency)
        await ledger.within(tx).fundWallet({ wallet: wallet.bizId, workspace: workspaceId, amount, actor: null })
        await auditCommand(tx, audited, { targetId: id, workspaceId, detail: { wallet: wallet.bizId } })
        const enrolled = await enrollAuthenticator(
          secrets,
          tx,
          { portal: 'CONSUMER', id, email },
          settings.mfa.issuer,
          at,
        )
        return enrolled.secret
      })
      accounts.push({ email, password, totpSecret })
    }
    return accounts
  })
}
