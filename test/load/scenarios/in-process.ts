import { writeFileSync } from 'node:fs'
import { developmentIds } from '../../../src/seed/development.ts'
import { chain, perimeter, signIn } from '../load/people.ts'
import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import { startGateway } from '../rig/gateway.ts'
import { startPeer } from '../rig/peers.ts'
import type { Rig } from '../rig/workspace.ts'
import { seededStore } from '../store/stores.ts'
import { type Contender, contest } from './contest.ts'

/** Checks a permission and reads only from memory. */
const path = `${chain}/roles/permissions/tree`

/** The timestamp differs between responses. */
function timeless(text: string): string {
  return text.replace(/"timestamp":\d+/, '"timestamp":0')
}

/** Plain Express sends the same body. */
export async function inProcessGet(rig: Rig, options: Options): Promise<Outcome> {
  const { variables } = await seededStore(options.store)
  const gateway = await startGateway(rig, { variables, profile: options.profile })
  const headers = { ...(await signIn(gateway)), 'x-workspace-id': developmentIds.workspace }
  const expected = await (await fetch(gateway.url + path, { headers })).text()
  const file = rig.file('body.json')
  writeFileSync(file, expected)
  const peer = await startPeer(rig, 'express-json', { BODY: file }, 'measured')
  const check = (text: string, status: number) => {
    if (status !== 200 || timeless(text) !== timeless(expected)) throw new Error('not the answer')
  }
  const own: Contender = { process: gateway, shot: { method: 'GET', url: gateway.url + path, headers }, check }
  const other: Contender = { process: peer, shot: { method: 'GET', url: peer.url + path, headers: perimeter() }, check }
  const outcome = await contest('in-process-get', [own, other], gateway, options)
  outcome.notes.push(`the answer is GET ${path}, ${Buffer.byteLength(expected)} bytes, for both`)
  return outcome
}
