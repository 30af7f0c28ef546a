/* Prints the accounts as JSON. All accounts share one password hash. */
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { HandlerDeadline } from '../../../src/backends/index.ts'
import { composeDomains } from '../../../src/compose/domains.ts'
import { composeIdentity, purposePorts } from '../../../src/compose/identity.ts'
import { openInfrastructure } from '../../../src/compose/infrastructure.ts'
import { readVariables } from '../../../src/config/env.ts'
import { bankingCatalogue } from '../../../src/contract/index.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { bizId, type WorkspaceId } from '../../../src/kernel/index.ts'
import { systemClock, systemDurations } from '../../../src/platform/runtime/index.ts'
import { loaded, loadedDomains } from '../../harness/domains.ts'
import { loadSettings } from '../../harness/settings.ts'
import { password } from '../load/people.ts'
import { people, type SeededAccount } from './accounts.ts'

const logger = pino({ level: 'error' }, pino.destination(2))
await using stack = new AsyncDisposableStack()
const settings = loadSettings(readVariables())
const opened = await openInfrastructure(
  settings,
  bankingCatalogue,
  loaded,
  false,
  { logger, clock: systemClock, durations: systemDurations, registry: new Registry(), spans: null, whileAway: null },
  stack,
)
const hashed = opened.passwords.hash(password)
const beyond = { ...opened, passwords: { ...opened.passwords, hash: () => hashed } }
function unused() {
  return Promise.reject(new Error('no registration and no recovery here'))
}
const identity = await composeIdentity(settings, beyond, {
  openWorkspace: unused,
  findTicketOperation: () => undefined,
  chainsOf: () => [],
  suspendCredentials: unused,
  applyProviderRights: unused,
  holdPayouts: unused,
  permissionsOfRole: () => [],
  purposes: purposePorts(
    bankingCatalogue.operations,
    opened.database,
    () => [],
    () => domains,
  ),
})
const domains = await composeDomains(loadedDomains, {
  catalogue: bankingCatalogue,
  settings,
  infrastructure: beyond,
  logger,
  identity,
  deadline: new HandlerDeadline(settings.requests.handlerTimeoutMs, systemDurations, logger, new Registry()),
})
const { database, clock, ids } = beyond

function provide(number: number): Promise<SeededAccount> {
  return inTransaction(database, async (tx) => {
    const email = `person-${number}@bench.test`
    const { accountId } = await identity.provideAccount(
      { portal: 'CONSUMER', email, password, name: `Person ${number}` },
      tx,
    )
    const at = clock.now()
    const workspaceId: WorkspaceId = ids.next<'workspace'>()
    const opening = { workspaceId, ownerId: accountId, name: `Workspace ${number}`, kind: 'LIVE' } as const
    await domains.requireService('workspaces').open(tx, { ...opening, joinSource: 'REGISTRATION', at })
    const wallet = bizId<'wallet'>(ids.next())
    const ledger = domains.ledger.within(tx)
    const named = { walletName: 'Main', currency: 'USD', isDefault: true }
    await ledger.openWallet({ bizId: wallet, workspaceBizId: workspaceId, ...named, at })
    await ledger.fundWallet({
      wallet,
      workspace: workspaceId,
      amount: { minor: 100_000_000n, currency: 'USD' },
      actor: null,
    })
    return { email, workspace: workspaceId, wallet }
  })
}

const accounts: SeededAccount[] = []
for (let number = 0; number < people; number++) accounts.push(await provide(number))
process.stdout.write(JSON.stringify(accounts))
