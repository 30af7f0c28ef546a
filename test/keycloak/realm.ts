import { inject } from 'vitest'

/* Realms, people and keys at the Keycloak of this run, by its Admin REST API. */

export interface Person {
  username: string
  groups?: string[]
  emailVerified?: boolean
}

export const password = 'a-password-at-keycloak'
/** Of the authenticator app of each person. */
export const otpSecret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

export function issuerOf(realm: string): string {
  return `${server().url}/realms/${realm}`
}

function server() {
  const keycloak = inject('keycloak')
  if (!keycloak) throw new Error('Keycloak is not installed')
  return keycloak
}

async function adminToken(): Promise<string> {
  const { url, administrator } = server()
  const body = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...administrator })
  const response = await fetch(`${url}/realms/master/protocol/openid-connect/token`, { method: 'POST', body })
  if (!response.ok) throw new Error(`no token of the administrator: ${response.status} ${await response.text()}`)
  return (await response.json()).access_token
}

/** Calls the Admin REST API. Returns the JSON of the reply, or null. */
async function admin(method: string, path: string, body?: object) {
  const isForm = body instanceof FormData
  const response = await fetch(`${server().url}/admin/realms${path}`, {
    method,
    headers: { authorization: `Bearer ${await adminToken()}`, ...(!isForm && { 'content-type': 'application/json' }) },
    ...(body && { body: isForm ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === '' ? null : JSON.parse(text)
}

/** A password is level 1, and the code of an authenticator app level 2. */
const flows = {
  browserFlow: 'browser with levels',
  authenticationFlows: [
    flow('browser with levels', true, [step('auth-cookie', 'ALTERNATIVE'), subflow('levels', 'ALTERNATIVE')]),
    flow('levels', false, [subflow('level 1', 'CONDITIONAL'), subflow('level 2', 'CONDITIONAL')]),
    flow('level 1', false, [
      step('conditional-level-of-authentication', 'REQUIRED', 'level 1'),
      step('auth-username-password-form', 'REQUIRED', 'password'),
    ]),
    flow('level 2', false, [
      step('conditional-level-of-authentication', 'REQUIRED', 'level 2'),
      step('auth-otp-form', 'REQUIRED', 'code'),
    ]),
  ],
  authenticatorConfig: [
    { alias: 'level 1', config: { 'loa-condition-level': '1', 'loa-max-age': '36000' } },
    { alias: 'level 2', config: { 'loa-condition-level': '2', 'loa-max-age': '0' } },
    { alias: 'password', config: { 'default.reference.value': 'pwd', 'default.reference.maxAge': '36000' } },
    { alias: 'code', config: { 'default.reference.value': 'otp', 'default.reference.maxAge': '36000' } },
  ],
}

function flow(alias: string, topLevel: boolean, executions: object[]) {
  const authenticationExecutions = executions.map((each, index) => ({ ...each, priority: index * 10 }))
  return { alias, providerId: 'basic-flow', topLevel, builtIn: false, authenticationExecutions }
}

function step(authenticator: string, requirement: string, authenticatorConfig?: string) {
  return { authenticator, requirement, authenticatorFlow: false, ...(authenticatorConfig && { authenticatorConfig }) }
}

function subflow(flowAlias: string, requirement: string) {
  return { flowAlias, requirement, authenticatorFlow: true }
}

/** A person signs in faster than the app shows new codes. Keycloak imports a policy only as a whole. */
const otpPolicy = {
  otpPolicyType: 'totp',
  otpPolicyAlgorithm: 'HmacSHA1',
  otpPolicyInitialCounter: 0,
  otpPolicyDigits: 6,
  otpPolicyLookAheadWindow: 1,
  otpPolicyPeriod: 30,
  otpPolicyCodeReusable: true,
}

export async function createRealm(
  realm: string,
  { clients, people }: { clients: object[]; people: Person[] },
): Promise<void> {
  const groups = [{ name: 'treasury', subGroups: [{ name: 'approvers' }, { name: 'auditors' }] }]
  await admin('POST', '', {
    realm,
    enabled: true,
    sslRequired: 'none',
    ...otpPolicy,
    groups,
    clients,
    users: people.map(toUser),
    ...flows,
  })
}

const otp = { subType: 'totp', digits: 6, period: 30, algorithm: 'HmacSHA1', counter: 0 }

function toUser({ username, groups = [], emailVerified = true }: Person) {
  return {
    ...{ username, email: `${username}@company.test`, emailVerified, enabled: true, groups },
    ...{ firstName: 'Pia', lastName: username },
    credentials: [
      { type: 'password', value: password, temporary: false },
      {
        type: 'otp',
        secretData: JSON.stringify({ value: otpSecret }),
        credentialData: JSON.stringify({ ...otp, secretEncoding: 'BASE32' }),
      },
    ],
  }
}

/** As the tab **Keys** of the client does. */
export async function importCertificate(realm: string, clientId: string, certificate: string): Promise<void> {
  const [client] = await admin('GET', `/${realm}/clients?clientId=${clientId}`)
  const form = new FormData()
  form.set('keystoreFormat', 'Certificate PEM')
  form.set('file', new Blob([certificate]), 'portico.crt')
  await admin('POST', `/${realm}/clients/${client.id}/certificates/jwt.credential/upload-certificate`, form)
}

async function idOf(realm: string, username: string): Promise<string> {
  const [user] = await admin('GET', `/${realm}/users?exact=true&username=${username}`)
  return user.id
}

/** Ends all sessions of the person, as **Sign out** in the console does. */
export async function endSessionsAtKeycloak(realm: string, username: string): Promise<void> {
  await admin('POST', `/${realm}/users/${await idOf(realm, username)}/logout`)
}

export async function leaveGroup(realm: string, username: string, path: string): Promise<void> {
  const { id } = await admin('GET', `/${realm}/group-by-path${path}`)
  await admin('DELETE', `/${realm}/users/${await idOf(realm, username)}/groups/${id}`)
}

/** Signs with a new key from now on. Returns its `kid`. */
export async function addSigningKey(realm: string): Promise<string> {
  const name = 'new key'
  const config = { priority: ['200'], algorithm: ['RS256'], keySize: ['2048'] }
  const component = { name, providerId: 'rsa-generated', providerType: 'org.keycloak.keys.KeyProvider', config }
  await admin('POST', `/${realm}/components`, component)
  return (await admin('GET', `/${realm}/keys`)).active.RS256
}

export async function disable(realm: string, username: string): Promise<void> {
  await admin('PUT', `/${realm}/users/${await idOf(realm, username)}`, { enabled: false })
}
