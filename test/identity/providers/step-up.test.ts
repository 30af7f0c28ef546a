import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as password from '../../../src/identity/passwords/contract.ts'
import * as contract from '../../../src/identity/providers/contract.ts'
import type { Caller } from '../../../src/kernel/index.ts'
import type { Browser } from '../../harness/provider.ts'
import { call, codeOf, createRequestContext, credential } from '../harness.ts'
import { type ProviderWorld, personOf, providerWorld, replyOf } from './world.ts'

const system = { portal: 'SYSTEM' } as const
const purpose = { operationId: password.changePassword.id }

let world: ProviderWorld
let caller: Caller
let browser: Browser
async function open(binding: 'purpose' | 'session') {
  world = await providerWorld(
    { stepUp: { acrValues: ['mfa'], accepts: ['mfa'] } },
    ({ purposes }) => {
      purposes.findOperation = (id) => (id === purpose.operationId ? password.changePassword : undefined)
    },
    ({ mfa }) => {
      mfa.binding = binding
    },
  )
}

beforeEach(async () => {
  Object.assign(world.provider, { answer: 'real', tamper: null })
  world.provider.person = personOf('operator@company.test')
  browser = new Map()
  const { completed } = await world.signIn({ browser })
  caller = await world.at.identity.authentication.accessToken(credential(completed?.accessToken ?? '', system))
})

function invoke<O extends Parameters<typeof call>[1]>(operation: O, body: unknown, as = caller) {
  return call(world.at.identity, operation, createRequestContext(world.at.clock, system), body, as)
}

async function begin(more: object = { purpose }) {
  const started = await invoke(contract.initiateProviderStepUp, { providerId: 'company', ...more })
  const reply = await world.provider.visit(started.authorizationUrl, browser)
  return { ...started, reply }
}

const stepUps = () => world.at.ports.database.selectFrom('step_ups').select(['purposeDigest', 'sessionBizId']).execute()

describe('bound to a purpose', () => {
  beforeAll(() => open('purpose'))
  afterAll(() => world.close())

  test('providers.stepUp 200: a fresh sign-in confirms the command, with an audit entry', async () => {
    const started = await begin()
    const { max_age: maxAge, acr_values: acrValues } = Object.fromEntries(
      new URL(started.authorizationUrl).searchParams,
    )
    expect([maxAge, acrValues]).toEqual(['0', 'mfa'])
    expect(await invoke(contract.stepUpAtProvider, replyOf(started))).toMatchObject({ success: true })
    expect(await stepUps()).toMatchObject([{ sessionBizId: caller.sessionId }])
    const audit = world.at.ports.database.selectFrom('audit_log').select('detail')
    const [entry] = await audit.where('targetBizId', '=', String(caller.sessionId)).execute()
    expect(entry?.detail).toMatchObject({ method: 'PROVIDER', acr: 'mfa', operation: purpose.operationId })
  })

  test.each<[string, (claims: Record<string, unknown>) => Record<string, unknown>]>([
    ['no auth_time', ({ auth_time: _, ...claims }) => claims],
    ['an auth_time before the request', (claims) => ({ ...claims, auth_time: Number(claims.iat) - 120 })],
    ['a weaker acr', (claims) => ({ ...claims, acr: 'pwd' })],
    ['no acr', ({ acr: _, ...claims }) => claims],
    ['another person', (claims) => ({ ...claims, sub: 'somebody else' })],
  ])('providers.stepUp 401: a reply with %s confirms nothing', async (_, tamper) => {
    const before = await stepUps()
    const started = await begin()
    world.provider.tamper = tamper
    expect(await codeOf(invoke(contract.stepUpAtProvider, replyOf(started)))).toBe('AUTH.PROVIDER_REFUSED')
    expect(await stepUps()).toEqual(before)
  })

  test('providers.stepUp 404: the reply of another session, of a sign-in, and a second use', async () => {
    const started = await begin()
    const { completed } = await world.signIn()
    const other = await world.at.identity.authentication.accessToken(credential(completed?.accessToken ?? '', system))
    expect(await codeOf(invoke(contract.stepUpAtProvider, replyOf(started), other))).toBe('AUTH.SESSION_NOT_FOUND')
    const signIn = replyOf(await world.begin())
    expect(await codeOf(invoke(contract.stepUpAtProvider, signIn))).toBe('AUTH.SESSION_NOT_FOUND')
    await invoke(contract.stepUpAtProvider, replyOf(started))
    expect(await codeOf(invoke(contract.stepUpAtProvider, replyOf(started)))).toBe('AUTH.SESSION_NOT_FOUND')
    expect(await codeOf(world.complete(await begin()))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('providers.stepUpInitiate 400 and 403: no purpose, and a provider without the setting', async () => {
    expect(await codeOf(begin({}))).toBe('VALIDATION.INVALID_PARAMETER')
    const [settings] = world.at.settings.portals.SYSTEM.providers
    if (!settings) throw new Error('the world has a provider')
    const { stepUp } = settings
    settings.stepUp = null
    expect(await codeOf(begin())).toBe('AUTH.MFA_METHOD_NOT_ALLOWED')
    settings.stepUp = stepUp
  })
})

describe('bound to the session', () => {
  beforeAll(() => open('session'))
  afterAll(() => world.close())

  test('providers.stepUp 200: the session is stepped up', async () => {
    await invoke(contract.stepUpAtProvider, replyOf(await begin({})))
    const rows = world.at.ports.database.selectFrom('sessions').select('steppedUpAt')
    const [session] = await rows.where('bizId', '=', caller.sessionId).execute()
    expect(session?.steppedUpAt).not.toBeNull()
  })
})
