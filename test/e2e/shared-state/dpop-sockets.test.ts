import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../../src/client/index.ts'
import { credentialProtocol } from '../../../src/contract/header-values.ts'
import { needsStore } from '../../harness/needs.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { path, type SocketsWorld, startSocketsWorld, workspace } from '../sockets-world.ts'

describe('a WebSocket of a session that is bound to a key', needsStore(), () => {
  let world: SocketsWorld
  beforeAll(async () => {
    world = await startSocketsWorld({})
  })
  afterAll(() => world?.stop())

  test('opens once with a proof in its protocols, and ends with the session', async () => {
    const { portico } = world
    const baseUrl = portico.settings.publicUrl.replace(/\/$/, '')
    const client = createClient({
      ...{ portal: 'CONSUMER', baseUrl, accessCode: 'consumer-dev', edgeHeaders: true, dpop: true },
      fetch: (input, init) => fetch(`${input}`.replace(baseUrl, portico.url), init),
    })
    const email = 'owner@demo.test'
    const code = async () => codeIn((await portico.mailTo(email, 'login-code')).text)
    await client.signIn({ email, password: 'Portico-demo-2026', code })
    const url = baseUrl.replace(/^http/, 'ws') + path
    const protocols = await client.socketProtocols({ url, workspaceId: workspace })
    const carried = protocols.flatMap((each) => credentialProtocol.parse(each)?.[0] ?? [])
    expect(carried).toContain('dpop')
    const inProtocols = Object.fromEntries(carried.map((name) => [name, null]))
    const handshake = { ...inProtocols, 'sec-websocket-protocol': protocols.join(', ') }
    const connection = await world.open(path, handshake)
    expect(await world.refusalOf(path, handshake)).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    await client.signOut()
    await connection.closed
  })
})
