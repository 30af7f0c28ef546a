import { developmentIds } from '../../../src/seed/development.ts'
import { signIn } from '../load/people.ts'
import type { Options } from '../options.ts'
import { wallet } from '../peers/bodies.ts'
import type { Outcome } from '../report/outcome.ts'
import { median, ratios } from '../report/stats.ts'
import { type CheckName, checkNames } from '../rig/checks.ts'
import { startGateway } from '../rig/gateway.ts'
import { startPeer } from '../rig/peers.ts'
import { pin } from '../rig/processes.ts'
import type { Rig } from '../rig/workspace.ts'
import { seededStore } from '../store/stores.ts'
import { type Contender, contest } from './contest.ts'
import { type Probed, probes, startRecorder } from './probes.ts'
import { envelopeOf, paths } from './proxied.ts'

interface Variant extends Probed {
  /** The removed check. */
  without: CheckName | null
  contender: Contender
}

/** So that thirteen processes take less than four minutes. */
function secondsOf({ seconds }: Options): number {
  return Math.max(1, Math.floor(seconds / 3))
}

/** Throws if the gateway still makes the removed check, or if the full gateway does not make a check. */
async function assertRemoved(variant: Variant): Promise<void> {
  const { without } = variant
  for (const name of without === null ? checkNames : [without])
    for (const probe of probes[name]) {
      const isChecked = await probe(variant)
      if (isChecked !== (without === null))
        throw new Error(without === null ? `the full gateway lacks ${name}` : `${name} is not removed`)
    }
}

/** `cost` is the CPU time of the full gateway divided by that without the check. */
function addCosts(outcome: Outcome): void {
  const [full, ...others] = outcome.rows
  if (!full) return
  const costs = others.map(({ contender, cpu }) => ({ contender, values: ratios(full.cpu, cpu) }))
  costs.sort((a, b) => median(b.values) - median(a.values))
  for (const { contender, values } of costs)
    outcome.figures.push({ id: `${outcome.scenario}/${contender}/cost`, values })
  const [highest] = costs
  if (highest) outcome.figures.push({ id: `${outcome.scenario}/highest-cost`, values: highest.values })
  const list = costs.map(({ contender, values }) => `${contender} ${median(values).toFixed(3)}`)
  outcome.notes.push(`CPU with all checks divided by CPU without one: ${list.join(', ')}`)
}

/** Each gateway except the first lacks one check. */
export async function withoutChecks(rig: Rig, options: Options): Promise<Outcome> {
  const upstream = await startPeer(rig, 'upstream', {}, 'load')
  const recorder = await startRecorder(rig)
  const place = { timeoutMs: 10_000, connections: 64 }
  const transfers = { ...place, url: recorder.url, audience: 'recorder' }
  const configuration = { backends: { wallets: { ...place, url: upstream.url }, transfers } }
  const startVariant = async (without: CheckName | null): Promise<Variant> => {
    const { variables } = await seededStore(options.store)
    const gateway = await startGateway(rig, {
      name: without ?? 'portico',
      place: 'anywhere',
      variables,
      configuration,
      profile: options.profile,
      without,
    })
    pin(gateway.pid, 'measured')
    const workspace = { 'x-workspace-id': developmentIds.workspace }
    const owner = { ...(await signIn(gateway)), ...workspace }
    const member = { ...(await signIn(gateway, 'member@demo.test')), ...workspace }
    const shot = { method: 'GET', url: gateway.url + paths.GET, headers: owner } as const
    // The replacements copy the results of this GET.
    await fetch(shot.url, { headers: owner })
    return {
      without,
      gateway,
      recorder,
      owner,
      member,
      contender: { process: gateway, shot, check: envelopeOf(wallet) },
    }
  }
  const full = await startVariant(null)
  const variants = [full]
  // Two at a time, because the start from sources takes seconds of CPU time.
  for (let index = 0; index < checkNames.length; index += 2)
    variants.push(...(await Promise.all(checkNames.slice(index, index + 2).map(startVariant))))
  for (const variant of variants) await assertRemoved(variant)
  const contenders = variants.map(({ contender }) => contender)
  const outcome = await contest('without-checks', contenders, full.gateway, { ...options, seconds: secondsOf(options) })
  addCosts(outcome)
  return outcome
}
