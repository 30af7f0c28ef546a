import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { KeycloakBrowser } from './browser.ts'
import { social } from './connections.ts'
import { addSigningKey, disable, endSessionsAtKeycloak } from './realm.ts'
import { type Connection, consumer, startWorld, system, type World } from './world.ts'

const realm = 'leavers'

/** Sign-ins with a password need no further factor. */
function socialAlone(guide: Connection): Connection {
  const { provider, ...connection } = social(guide)
  return { ...connection, provider: { ...provider, trustsMfa: ['1'] } }
}

describe('sign-outs at Keycloak', needs(inject('keycloak'), 'Keycloak or Java is not installed'), () => {
  let world: World
  beforeAll(async () => {
    const people = ['alice', 'bob', 'carol', 'dave'].map((username) => ({ username }))
    world = await startWorld({ realm, people, connections: (guide) => [socialAlone(guide)] })
  })
  afterAll(() => world?.portico.stop())

  const statusesOf = (portal: string, tokens: string[]) =>
    Promise.all(tokens.map((token) => world.statusOf(portal, token)))

  test('back-channel logout: an administrator of Keycloak ends all sessions of a person', async () => {
    const tokens = [
      await world.tokenOf(system, { username: 'alice' }),
      await world.tokenOf(system, { username: 'alice' }),
      await world.tokenOf(system, { username: 'bob' }),
    ]
    expect(await statusesOf(system, tokens)).toEqual([200, 200, 200])
    // Keycloak replies when it has sent the logout token. It sends one for all sessions of a client.
    await endSessionsAtKeycloak(realm, 'alice')
    expect(await statusesOf(system, tokens)).toEqual([401, 401, 200])
  })

  test('back-channel logout: a token under a key that no sign-in has used', async () => {
    const token = await world.tokenOf(system, { username: 'bob' })
    await addSigningKey(realm)
    await endSessionsAtKeycloak(realm, 'bob')
    expect(await world.statusOf(system, token)).toBe(401)
  })

  test('providers.logout 200: the browser signs out at Keycloak without a question, and at the other portal', async () => {
    const browser = new KeycloakBrowser()
    const token = await world.tokenOf(system, { username: 'carol', browser })
    const shoppers = [
      await world.tokenOf(consumer, { username: 'carol', browser }),
      await world.tokenOf(consumer, { username: 'carol' }),
    ]
    expect(browser.forms).toEqual(['username password', 'otp'])
    const ended = await world.post(`${system}/security/providers/logout`, undefined, token)
    expect(ended.body.data.terminatedSessions).toBe(1)
    expect(await statusesOf(consumer, shoppers)).toEqual([200, 200])
    const returned = await browser.visit(ended.body.data.endSessionUrl, 'carol')
    expect(returned.href).toBe(`${world.portico.settings.publicUrl}/`)
    expect(await statusesOf(consumer, shoppers)).toEqual([401, 200])
    await world.tokenOf(system, { username: 'carol', browser })
    expect(browser.forms).toEqual(['username password', 'otp', 'username password', 'otp'])
  })

  test('back-channel logout: a disabled person whose sessions an administrator ends has no way in', async () => {
    const token = await world.tokenOf(system, { username: 'dave' })
    await disable(realm, 'dave')
    await endSessionsAtKeycloak(realm, 'dave')
    expect(await world.statusOf(system, token)).toBe(401)
    await expect(world.signIn(system, { username: 'dave' })).rejects.toThrow('Account is disabled')
  })
})
