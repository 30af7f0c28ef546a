import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { signInAll } from '../load/crowd.ts'
import { drive, formatFailures } from '../load/drive.ts'
import { openMailbox } from '../load/mailbox.ts'
import { transferStep } from '../load/transfer.ts'
import type { Options } from '../options.ts'
import type { Outcome, Row } from '../report/outcome.ts'
import { ratios } from '../report/stats.ts'
import { startGateway } from '../rig/gateway.ts'
import type { Rig } from '../rig/workspace.ts'
import { postgres, seededStore } from '../store/stores.ts'
import { keepProfile } from './contest.ts'
import { emptyRow, measured } from './rows.ts'

const clients = 16
const senders = 32

/** Waiting changes per round of the sequencer. */
const backlog = 10_000

/** Transfers with and without their events in turn, and then the sequencer alone, behind a backlog. */
export async function eventsOnPostgres(rig: Rig, options: Options): Promise<Outcome> {
  const scenario = 'events'
  const outcome: Outcome = { scenario, rows: [], figures: [], notes: [], faults: [], profiles: [] }
  if (!(await postgres())) return { ...outcome, notes: ['skipped: no PostgreSQL to be found'] }
  const store = await seededStore('postgres')
  const mailbox = rig.stopAtEnd(await openMailbox())
  const variables = { ...store.variables, SMTP_URL: mailbox.url }
  const gateway = await startGateway(rig, { variables, profile: options.profile })
  const client = new Client({ connectionString: store.variables.DATABASE_URL })
  await client.connect()
  const people = await signInAll(gateway, mailbox, store.accounts.slice(0, senders))
  const step = transferStep(people, store.accounts, { orders: [], repeats: 0 })
  const once = (seconds: number) => drive({ url: gateway.url, loops: clients, seconds, step })
  const withEvents = emptyRow(scenario, 'transfers with events', 'transfers')
  const without = emptyRow(scenario, 'transfers without events', 'transfers')
  const alone = emptyRow(scenario, 'sequencer', 'events')
  outcome.rows.push(withEvents, without, alone)
  const round = (row: Row, triggers: 'ENABLE' | 'DISABLE') => async () => {
    await client.query(
      `ALTER TABLE orders ${triggers} TRIGGER orders_created_event, ${triggers} TRIGGER orders_changed_event`,
    )
    const failures = formatFailures(row.contender, await measured(row, gateway, () => once(options.seconds)))
    outcome.faults.push(...failures)
    await untilSequenced(client)
  }
  await once(1)
  const rounds = [round(withEvents, 'ENABLE'), round(without, 'DISABLE')]
  for (let count = 0; count < options.rounds; count++)
    for (const each of count % 2 === 0 ? rounds : rounds.toReversed()) await each()
  const sequence = async (): Promise<void> => {
    const before = await headOf(client)
    await client.query(
      `INSERT INTO event_outbox (source, at, new)
       SELECT 'orders/' || order_type, updated_at, order_json(o)
         FROM (SELECT * FROM orders LIMIT 100) AS o CROSS JOIN generate_series(1, $1::integer)`,
      [backlog / 100],
    )
    // The pause before the next poll does not count.
    while ((await headOf(client)) === before) await pause(5)
    const [first, startedAt] = [await headOf(client), performance.now()]
    await untilSequenced(client)
    alone.perSecond.push(((await headOf(client)) - first) / ((performance.now() - startedAt) / 1_000))
  }
  for (let count = 0; count < options.rounds; count++) await sequence()
  outcome.figures.push(
    { id: `${scenario}/without`, values: ratios(withEvents.perSecond, without.perSecond) },
    { id: `${scenario}/sequencer`, values: alone.perSecond },
  )
  await keepProfile(outcome, gateway, options, async () => {
    await sequence()
    return once(1)
  })
  const { rows } = await client.query('SELECT count(*) AS failed FROM event_outbox')
  if (Number(rows[0]?.failed) > 0) outcome.faults.push(`${rows[0]?.failed} changes were set aside`)
  await client.end()
  await gateway.stop()
  return outcome
}

async function untilSequenced(client: Client): Promise<void> {
  while ((await client.query('SELECT FROM event_outbox WHERE failure IS NULL LIMIT 1')).rowCount !== 0) await pause(20)
}

async function headOf(client: Client): Promise<number> {
  return Number((await client.query('SELECT position FROM event_head')).rows[0]?.position)
}
