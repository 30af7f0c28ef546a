import { developmentIds } from '../../../src/seed/development.ts'
import { openChannel } from '../load/channel.ts'
import { type Drive, drive, formatFailures } from '../load/drive.ts'
import type { Line } from '../load/line.ts'
import { chain, signIn } from '../load/people.ts'
import type { Options } from '../options.ts'
import { transferRequest } from '../peers/bodies.ts'
import type { Outcome } from '../report/outcome.ts'
import { ratios } from '../report/stats.ts'
import { startGateway } from '../rig/gateway.ts'
import { startPeer } from '../rig/peers.ts'
import type { Rig } from '../rig/workspace.ts'
import { seededStore } from '../store/stores.ts'
import { keepProfile, rotated } from './contest.ts'
import { proxying } from './proxied.ts'
import { emptyRow, measured } from './rows.ts'

const scenario = 'encrypted-post'
const path = `${chain}/transfer/command/create`

async function post(line: Line, headers: Record<string, string>, body: string, answer: string): Promise<void> {
  const reply = await line.sendRequest({ method: 'POST', path, headers, body })
  if (reply.status !== 200 || !reply.body.includes(answer)) throw new Error(`${reply.status} ${reply.body}`)
}

/** Compares POST with and without the secure channel. */
export async function encryptedPost(rig: Rig, options: Options): Promise<Outcome> {
  const upstream = await startPeer(rig, 'upstream', {}, 'load')
  const { variables } = await seededStore(options.store)
  const configuration = proxying(upstream.url)
  const gateway = await startGateway(rig, { variables, configuration, profile: options.profile })
  const clear = { ...(await signIn(gateway)), 'x-workspace-id': developmentIds.workspace }
  // Real clients have a channel each, so sequence numbers arrive in order.
  const channels = await Promise.all(Array.from({ length: options.connections }, () => openChannel(gateway, clear)))
  const sealing = (extra: Record<string, string>, answer: string) => (line: Line, loop: number) => {
    const channel = channels[loop]
    if (!channel) throw new RangeError('more loops than channels')
    const headers = { ...clear, 'x-secure-channel-session-id': channel.sessionId, ...extra }
    return post(line, headers, channel.seal('POST', path, transferRequest), answer)
  }
  const data = '"data":{"bizId"'
  const contenders = [
    { row: emptyRow(scenario, 'portico', 'requests'), step: sealing({}, data) },
    { row: emptyRow(scenario, 'clear', 'requests'), step: (line: Line) => post(line, clear, transferRequest, data) },
    {
      row: emptyRow(scenario, 'sealed both ways', 'requests'),
      step: sealing({ 'x-secure-channel-reply': 'encrypted' }, '"data":{"payload"'),
    },
  ]
  const outcome: Outcome = {
    scenario,
    rows: contenders.map(({ row }) => row),
    figures: [],
    notes: [],
    faults: [],
    profiles: [],
  }
  const once = (step: Drive['step'], seconds: number) =>
    drive({ url: gateway.url, loops: options.connections, seconds, step })
  for (const { step } of contenders) await once(step, 1)
  for (let round = 0; round < options.rounds; round++)
    for (const { row, step } of rotated(contenders, round))
      outcome.faults.push(
        ...formatFailures(row.contender, await measured(row, gateway, () => once(step, options.seconds))),
      )
  const [own, plain] = outcome.rows
  if (own && plain) outcome.figures.push({ id: `${scenario}/clear`, values: ratios(own.perSecond, plain.perSecond) })
  const [first] = contenders
  if (first) await keepProfile(outcome, gateway, options, () => once(first.step, options.seconds))
  return outcome
}
