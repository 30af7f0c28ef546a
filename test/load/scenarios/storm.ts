import { signInAll } from '../load/crowd.ts'
import { type Drive, type Driven, drive, formatFailures } from '../load/drive.ts'
import { logIn } from '../load/login.ts'
import { openMailbox } from '../load/mailbox.ts'
import { chain } from '../load/people.ts'
import { openReader } from '../load/reader.ts'
import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import { ratios } from '../report/stats.ts'
import { startGateway } from '../rig/gateway.ts'
import type { Rig } from '../rig/workspace.ts'
import { bestStore } from '../store/stores.ts'
import { addRound, emptyRow } from './rows.ts'

const scenario = 'login-storm'
const storming = 200
const readers = 32
const pace = 100

/** Reads at a constant rate, with and without 200 concurrent logins. */
export async function loginStorm(rig: Rig, options: Options): Promise<Outcome> {
  const store = await bestStore()
  const mailbox = rig.stopAtEnd(await openMailbox())
  const gateway = await startGateway(rig, { variables: { ...store.variables, SMTP_URL: mailbox.url } })
  const [reader] = await signInAll(gateway, mailbox, store.accounts.slice(0, 1))
  if (!reader) throw new RangeError('nobody reads')
  const headers = { ...reader.headers, 'x-workspace-id': reader.workspace }
  const arriving = store.accounts.slice(1)
  const { read } = rig.stopAtEnd(
    openReader({ url: gateway.url, loops: readers, pace, path: `${chain}/wallets`, headers }),
  )
  let next = 0
  const arrive: Drive['step'] = async (line) => {
    next += 1
    await logIn(line, mailbox, arriving[next % arriving.length]?.email ?? '')
  }
  const storm = (seconds: number) => drive({ url: gateway.url, loops: storming, seconds, step: arrive })
  const under = async (seconds: number): Promise<Driven> => {
    const logins = storm(seconds + 1)
    const during = await read(seconds)
    outcome.faults.push(...formatFailures('logins', await logins))
    return during
  }
  const row = emptyRow(scenario, 'portico', 'requests')
  const quiet = emptyRow(scenario, 'quiet', 'requests')
  const outcome: Outcome = { scenario, rows: [row, quiet], figures: [], notes: [], faults: [], profiles: [] }
  await read(1)
  await under(1)
  for (let round = 0; round < options.rounds; round++) {
    for (const [to, run] of [
      [quiet, read],
      [row, under],
    ] as const) {
      const driven = await run(options.seconds)
      addRound(to, driven, Number.NaN)
      outcome.faults.push(...formatFailures(to.contender, driven))
    }
  }
  outcome.figures.push({ id: `${scenario}/quiet`, values: ratios(row.p99, quiet.p99) })
  outcome.notes.push(
    `on ${store.kind}; ${pace} reads a second on ${readers} connections; ${storming} concurrent logins, ${next} in all`,
  )
  return outcome
}
