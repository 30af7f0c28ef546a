import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject } from 'vitest'
import { parse } from 'yaml'
import { identityProvider } from '../../src/config/providers/settings.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { KeycloakBrowser } from './browser.ts'
import { createRealm, importCertificate, issuerOf, type Person } from './realm.ts'

/* A gateway and a realm with the settings of docs/guides/keycloak.md. */

export const system = '/web/v1/system'
export const consumer = '/web/v1/consumer'

export interface World {
  portico: Portico
  post(path: string, body?: object, token?: string): ReturnType<Portico['call']>
  statusOf(portal: string, token: string): Promise<number>
  /** Starts at the path, signs in at Keycloak, and returns to the page of the front end. */
  visit(path: string, visit: Visit): Promise<Visited>
  /** Returns the reply of `auth/provider/complete`. */
  signIn(portal: string, visit: Visit): ReturnType<Portico['call']>
  /** Signs in without a further factor. Returns the access token. */
  tokenOf(portal: string, visit: Visit): Promise<string>
}

export interface Visit {
  username: string
  providerId?: string
  browser?: KeycloakBrowser
  token?: string
  body?: object
}

export interface Visited {
  authorizationUrl: URL
  callback: URL
  /** Of the front end. */
  page: URL
  reply: { sessionId: string; code: string; state: string; iss: string }
}

/** Of a client of a realm. */
export interface Connection {
  portal: 'SYSTEM' | 'CONSUMER'
  /** Input of `identityProvider`. */
  provider: { id: string; [setting: string]: unknown }
  client: Client
}

interface Client {
  clientId: string
  attributes: Record<string, string>
  [setting: string]: unknown
}

interface Setup {
  realm: string
  people: Person[]
  /** In addition to the one of the guide. */
  connections?: (guide: Connection) => (Connection & { realm?: string })[]
}

export async function startWorld({ realm, people, connections = () => [] }: Setup): Promise<World> {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const { folder, ...guide } = followGuide(realm)
  const all = [{ ...guide, realm }, ...connections(guide).map((each) => ({ realm, ...each }))]
  const portico = await startPortico({
    adjust: (settings) => {
      settings.publicUrl = publicUrl
      settings.listen.port = port
      settings.portals.CONSUMER.selfRegistration = 'open'
      for (const portal of ['SYSTEM', 'CONSUMER'] as const) {
        Object.assign(settings.portals[portal].links, { signIn: '/', providerCallback: '/sign-in/provider' })
        settings.portals[portal].identityProviders = all
          .filter((each) => each.portal === portal)
          .map((each) => identityProvider.parse({ ...each.provider, issuer: issuerOf(each.realm) }))
      }
    },
  })
  for (const [name, connected] of Map.groupBy(all, (each) => each.realm)) {
    const clients = connected.map(({ client }) => JSON.parse(atPublicUrl(client, publicUrl)))
    await createRealm(name, { clients, people })
  }
  await importCertificate(realm, guide.client.clientId, readFileSync(join(folder, 'portico.crt'), 'utf8'))
  return worldOf(portico)
}

/** Runs the command of the guide, and returns its settings. */
function followGuide(realm: string): Connection & { folder: string } {
  const guide = readFileSync('docs/guides/keycloak.md', 'utf8')
  const blockOf = (language: string): string => {
    const block = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(guide)?.[1]
    return block ?? expect.unreachable(`the guide has no block in ${language}`)
  }
  const folder = mkdtempSync(join(inject('runFolder'), `${realm}-`))
  execFileSync('bash', ['-ec', blockOf('sh')], { cwd: folder, stdio: 'ignore' })
  const { portals } = parse(blockOf('yaml'))
  const provider = { ...portals.SYSTEM.identityProviders[0], privateKeyFile: join(folder, 'portico.pem') }
  return { portal: 'SYSTEM', provider, client: JSON.parse(blockOf('json')), folder }
}

function atPublicUrl(client: Client, publicUrl: string): string {
  return JSON.stringify(client).replaceAll('https://portal.example', publicUrl)
}

function worldOf(portico: Portico): World {
  const post: World['post'] = (path, body, token) =>
    portico.call('POST', path, { ...(body && { body }), ...(token && { token }) })
  const visit: World['visit'] = async (path, { username, providerId = 'keycloak', token, body, ...more }) => {
    const started = await post(path, { providerId, ...body }, token)
    expect(started.status, started.text).toBe(200)
    const { authorizationUrl, sessionId } = started.body.data
    const callback = await (more.browser ?? new KeycloakBrowser()).visit(authorizationUrl, username)
    const response = await fetch(callback, { redirect: 'manual' })
    const page = new URL(response.headers.get('location') ?? '')
    const { code = '', state = '', iss = '' } = Object.fromEntries(new URLSearchParams(page.hash.slice(1)))
    return { authorizationUrl: new URL(authorizationUrl), callback, page, reply: { sessionId, code, state, iss } }
  }
  const signIn: World['signIn'] = async (portal, options) => {
    const { reply } = await visit(`${portal}/auth/provider/initiate`, options)
    return post(`${portal}/auth/provider/complete`, reply)
  }
  return {
    ...{ portico, post, visit, signIn },
    statusOf: async (portal, token) => (await portico.call('GET', `${portal}/security/self`, { token })).status,
    tokenOf: async (portal, options) => {
      const { body, text } = await signIn(portal, options)
      return body.data?.completed?.accessToken ?? expect.unreachable(text)
    },
  }
}
