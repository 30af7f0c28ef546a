import { signInAll } from '../load/crowd.ts'
import { type Drive, drive, formatFailures } from '../load/drive.ts'
import { openMailbox } from '../load/mailbox.ts'
import { type Acknowledged, transferStep } from '../load/transfer.ts'
import type { Options } from '../options.ts'
import type { Outcome, Row } from '../report/outcome.ts'
import { ratios } from '../report/stats.ts'
import { startGateway } from '../rig/gateway.ts'
import { startPeer } from '../rig/peers.ts'
import { onPath } from '../rig/processes.ts'
import type { Rig } from '../rig/workspace.ts'
import { auditBook } from '../store/audit.ts'
import { preparePgbench } from '../store/pgbench.ts'
import { postgres, type Store, seededStore } from '../store/stores.ts'
import { keepProfile } from './contest.ts'
import { addRound, emptyRow, measured, runPeer } from './rows.ts'

const clients = 16
const senders = 32

/** A contender with which Portico is compared. */
interface Against {
  name: string
  round(row: Row, seconds: number): Promise<void>
}

async function transfers(rig: Rig, options: Options, store: Store, against: Against | null): Promise<Outcome> {
  const scenario = `transfers-${store.kind}`
  const mailbox = rig.stopAtEnd(await openMailbox())
  const variables = { ...store.variables, SMTP_URL: mailbox.url }
  const gateway = await startGateway(rig, { variables, profile: options.profile })
  const people = await signInAll(gateway, mailbox, store.accounts.slice(0, senders))
  const acknowledged: Acknowledged = { orders: [], repeats: 0 }
  const step: Drive['step'] = transferStep(people, store.accounts, acknowledged)
  const once = (seconds: number) => drive({ url: gateway.url, loops: clients, seconds, step })
  const own = emptyRow(scenario, 'portico', 'transfers')
  const other = emptyRow(scenario, against?.name ?? '', 'transfers')
  const rows = against ? [own, other] : [own]
  const outcome: Outcome = { scenario, rows, figures: [], notes: [], faults: [], profiles: [] }
  await once(1)
  await against?.round(emptyRow('', '', ''), 1)
  const rounds = [
    async () =>
      void outcome.faults.push(...formatFailures('portico', await measured(own, gateway, () => once(options.seconds)))),
    async () => against?.round(other, options.seconds),
  ]
  for (let round = 0; round < options.rounds; round++)
    for (const each of round % 2 === 0 ? rounds : rounds.toReversed()) await each()
  if (against)
    outcome.figures.push({ id: `${scenario}/${against.name}`, values: ratios(own.perSecond, other.perSecond) })
  await keepProfile(outcome, gateway, options, () => once(options.seconds))
  await gateway.stop()
  outcome.faults.push(...(await auditBook(store.variables, acknowledged.orders)))
  outcome.notes.push(
    `${acknowledged.orders.length} orders acknowledged, ${acknowledged.repeats} requests repeated; the book was checked afterwards`,
  )
  return outcome
}

export async function transfersOnPglite(rig: Rig, options: Options): Promise<Outcome> {
  const peer = await startPeer(rig, 'kysely-transfers', { DATA: rig.file('plain') }, 'measured')
  const round = async (row: Row, seconds: number): Promise<void> =>
    void (await measured(row, peer, () => runPeer(peer, seconds)))
  return transfers(rig, options, await seededStore('pglite'), { name: 'kysely', round })
}

export async function transfersOnPostgres(rig: Rig, options: Options): Promise<Outcome> {
  const server = await postgres()
  if (!server) {
    const notes = ['skipped: no PostgreSQL to be found']
    return { scenario: 'transfers-postgres', rows: [], figures: [], notes, faults: [], profiles: [] }
  }
  const pgbench = onPath('pgbench') ? await preparePgbench(rig, server.url, clients) : null
  const round = async (row: Row, seconds: number): Promise<void> => {
    if (pgbench) addRound(row, await pgbench(seconds), Number.NaN)
  }
  const outcome = await transfers(rig, options, await seededStore('postgres'), pgbench && { name: 'pgbench', round })
  outcome.notes.push(`PostgreSQL ${server.version} on all cores, ${clients} connections each`)
  return outcome
}
