import { type Drive, drive, formatFailures } from '../load/drive.ts'
import { logIn } from '../load/login.ts'
import { openMailbox } from '../load/mailbox.ts'
import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import { ratios } from '../report/stats.ts'
import { startGateway } from '../rig/gateway.ts'
import { startPeer } from '../rig/peers.ts'
import type { Rig } from '../rig/workspace.ts'
import { bestStore } from '../store/stores.ts'
import { keepProfile } from './contest.ts'
import { emptyRow, measured, runPeer } from './rows.ts'

const scenario = 'logins'
const loops = 16

/** Compares with argon2id hashing on the same core. */
export async function logins(rig: Rig, options: Options): Promise<Outcome> {
  const store = await bestStore()
  const mailbox = rig.stopAtEnd(await openMailbox())
  const variables = { ...store.variables, SMTP_URL: mailbox.url }
  const gateway = await startGateway(rig, { variables, profile: options.profile })
  const peer = await startPeer(rig, 'argon2id', {}, 'measured')
  let next = 0
  const step: Drive['step'] = async (line) => {
    next += 1
    await logIn(line, mailbox, store.accounts[next % store.accounts.length]?.email ?? '')
  }
  const once = (seconds: number) => drive({ url: gateway.url, loops, seconds, step })
  const own = emptyRow(scenario, 'portico', 'logins')
  const hashing = emptyRow(scenario, 'argon2id', 'hashes')
  const outcome: Outcome = { scenario, rows: [own, hashing], figures: [], notes: [], faults: [], profiles: [] }
  await once(1)
  await runPeer(peer, 1)
  const rounds = [
    async () =>
      void outcome.faults.push(...formatFailures('portico', await measured(own, gateway, () => once(options.seconds)))),
    async () => void (await measured(hashing, peer, () => runPeer(peer, options.seconds))),
  ]
  for (let round = 0; round < options.rounds; round++)
    for (const each of round % 2 === 0 ? rounds : rounds.toReversed()) await each()
  outcome.figures.push({ id: `${scenario}/argon2id`, values: ratios(own.perSecond, hashing.perSecond) })
  outcome.notes.push(`on ${store.kind}, ${store.accounts.length} accounts, codes by SMTP`)
  await keepProfile(outcome, gateway, options, () => once(options.seconds))
  return outcome
}
