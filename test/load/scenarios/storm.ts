import { developmentIds } from '../../../src/seed/development.ts'
import { type Drive, type Driven, drive, told } from '../load/drive.ts'
import { logIn } from '../load/login.ts'
import { openMailbox } from '../load/mailbox.ts'
import { chain, signIn } from '../load/people.ts'
import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import { ratios } from '../report/stats.ts'
import { startGateway } from '../rig/gateway.ts'
import type { Rig } from '../rig/workspace.ts'
import { bestStore } from '../store/stores.ts'
import { addRound, emptyRow } from './rows.ts'

const scenario = 'login-storm'
const storming = 200
const readers = 4
const pace = 100

/** GETs of somebody who is signed in, at an even pace, alone and while 200 people sign in at once. */
export const loginStorm = async (rig: Rig, options: Options): Promise<Outcome> => {
  const store = await bestStore()
  const mailbox = rig.keep(await openMailbox())
  const quietGateway = await startGateway(rig, { variables: store.variables })
  const headers = { ...(await signIn(quietGateway)), 'x-workspace-id': developmentIds.workspace }
  await quietGateway.stop()
  const gateway = await startGateway(rig, { variables: { ...store.variables, SMTP_URL: mailbox.url } })
  const reads: Drive['step'] = async (line) => {
    const { status, body } = await line.ask({ method: 'GET', path: `${chain}/wallets`, headers })
    if (status !== 200) throw new Error(`${status} ${body}`)
  }
  const read = (seconds: number) => drive({ url: gateway.url, loops: readers, pace, seconds, step: reads })
  let next = 0
  const arrive: Drive['step'] = async (line) => {
    next += 1
    await logIn(line, mailbox, store.accounts[next % store.accounts.length]?.email ?? '')
  }
  const storm = (seconds: number) => drive({ url: gateway.url, loops: storming, seconds, step: arrive })
  const under = async (seconds: number): Promise<Driven> => {
    const logins = storm(seconds + 1)
    const during = await read(seconds)
    outcome.faults.push(...told('logins', await logins))
    return during
  }
  const row = emptyRow(scenario, 'portico', 'requests')
  const quiet = emptyRow(scenario, 'quiet', 'requests')
  const outcome: Outcome = { scenario, rows: [row, quiet], figures: [], notes: [], faults: [], profiles: [] }
  await read(1)
  for (let round = 0; round < options.rounds; round++) {
    for (const [to, run] of [
      [quiet, read],
      [row, under],
    ] as const) {
      const driven = await run(options.seconds)
      addRound(to, driven, Number.NaN)
      outcome.faults.push(...told(to.contender, driven))
    }
  }
  outcome.figures.push({ id: `${scenario}/quiet`, values: ratios(row.p99, quiet.p99) })
  outcome.notes.push(
    `on ${store.kind}; ${pace} reads a second on ${readers} connections; ${storming} logins at once, ${next} in all`,
  )
  return outcome
}
