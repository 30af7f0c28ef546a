import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { countOpenSessions, createIdentity, type IdentitySettings } from '../../src/identity/index.ts'
import * as auth from '../../src/identity/login/contract.ts'
import { forgotPassword, resetPassword } from '../../src/identity/passwords/contract.ts'
import {
  completeRegistration,
  initiateRegistration,
  verifyRegistrationEmail,
} from '../../src/identity/registration/contract.ts'
import { rulesOf } from '../../src/identity/settings.ts'
import type { AccountId, Portal } from '../../src/kernel/index.ts'
import {
  begin,
  call,
  codeOf,
  complete,
  createRequestContext,
  credential,
  type Harness,
  harness,
  initiate,
  mailedCode,
  runJobs,
  signIn,
} from './harness.ts'
import { type ProviderWorld, personOf, providerWorld } from './providers/world.ts'

/** A portal that the configuration adds. */
const merchant = 'MERCHANT' as string as Portal
const others = ['CONSUMER', 'SYSTEM'] as const
const password = 'correct horse battery staple'
const email = 'same@demo.test'
const newPassword = 'violet-Anchor-Tundra-58'

function addMerchant({ portals }: IdentitySettings): void {
  const { CONSUMER } = portals
  const links = { ...CONSUMER.links, signIn: 'https://merchant.test/', passwordReset: 'https://merchant.test/reset' }
  portals[merchant] = { ...CONSUMER, links, selfRegistration: 'open' }
  CONSUMER.selfRegistration = 'closed'
}

const rulesAt = ({ settings }: Pick<Harness, 'settings'>) => rulesOf(settings, merchant)

describe('people of an additional portal', () => {
  let at: Harness
  const ids = new Map<Portal, AccountId>()
  const opened: AccountId[] = []
  const context = (portal: Portal) => createRequestContext(at.clock, { portal })

  beforeAll(async () => {
    at = await harness(addMerchant, (ports) => {
      ports.openWorkspace = async (_, { ownerId }) => void opened.push(ownerId)
    })
    for (const portal of [...others, merchant]) ids.set(portal, await at.account(email, { portal }))
  })
  afterAll(() => at.close())

  test('one address has an account at each portal; a token of one portal is refused by the others', async () => {
    expect(new Set(ids.values()).size).toBe(3)
    const { accessToken } = await signIn(at, email, { portal: merchant })
    const { authentication } = at.identity
    for (const portal of [merchant, null]) {
      const caller = await authentication.accessToken(credential(accessToken, { portal }))
      expect(caller).toMatchObject({ portal: merchant, accountId: ids.get(merchant) })
    }
    for (const portal of others) {
      const refused = (async () => authentication.accessToken(credential(accessToken, { portal })))()
      expect(await codeOf(refused)).toBe('ACCESS.TOKEN_INVALID')
      const { accessToken: foreign } = await signIn(at, email, { portal })
      const elsewhere = (async () => authentication.accessToken(credential(foreign, { portal: merchant })))()
      expect(await codeOf(elsewhere)).toBe('ACCESS.TOKEN_INVALID')
    }
    const counts = await countOpenSessions(at.ports.database, [merchant], at.clock.now())
    expect([...counts]).toEqual([[merchant, 1]])
  })

  test('auth.loginComplete and auth.refresh 404: a sign-in, its code and its session stay at their portal', async () => {
    const { sessionId, code } = await begin(at, email, { portal: merchant })
    for (const portal of others)
      expect(await codeOf(complete(at, sessionId, code, { portal }))).toBe('AUTH.SESSION_NOT_FOUND')
    const { refreshToken } = await complete(at, sessionId, code, { portal: merchant })
    for (const portal of others) {
      const refreshing = call(at.identity, auth.refreshToken, context(portal), { refreshToken })
      expect(await codeOf(refreshing)).toBe('AUTH.SESSION_NOT_FOUND')
    }
    await call(at.identity, auth.refreshToken, context(merchant), { refreshToken })
  })

  test('password.reset 404: a link resets the password at its portal only', async () => {
    await call(at.identity, forgotPassword, context(merchant), { email, turnstileToken: '' })
    await at.background.idle()
    const mail = at.outbox.list().find(({ to, text }) => to === email && text.includes('#token='))
    const [, token] = /https:\/\/merchant\.test\/reset#token=([\w-]+)/.exec(mail?.text ?? '') ?? []
    for (const portal of others) {
      const resetting = call(at.identity, resetPassword, context(portal), { token, newPassword })
      expect(await codeOf(resetting)).toBe('AUTH.SESSION_NOT_FOUND')
    }
    await call(at.identity, resetPassword, context(merchant), { token, newPassword })
    await initiate(at, email, { portal: merchant }, newPassword)
    for (const portal of others) {
      await initiate(at, email, { portal }, password)
      expect(await codeOf(initiate(at, email, { portal }, newPassword))).toBe('AUTH.INVALID_CREDENTIALS')
    }
    await runJobs(at)
    const change = at.outbox.list().find(({ to, text }) => to === email && text.includes('https://merchant.test/'))
    expect(change).toBeDefined()
  })

  test('registration.complete 200: the account and its workspace belong to the portal, by its own rules', async () => {
    const address = 'new@demo.test'
    const body = { email: address, turnstileToken: '' }
    const closed = call(at.identity, initiateRegistration, context('CONSUMER'), body)
    expect(await codeOf(closed)).toBe('AUTH.REGISTRATION_CLOSED')
    const { sessionId } = await call(at.identity, initiateRegistration, context(merchant), body)
    await at.background.idle()
    await call(at.identity, verifyRegistrationEmail, context(merchant), { sessionId, code: mailedCode(at, address) })
    await call(at.identity, completeRegistration, context(merchant), { sessionId, accountName: 'New' })
    const accounts = at.ports.database.selectFrom('accounts').select(['bizId', 'portal'])
    const rows = await accounts.where('email', '=', address).execute()
    expect(rows).toEqual([{ bizId: opened[0], portal: merchant }])
  })

  test('mfa.required.passkey: each portal withholds permissions by its rule', async () => {
    const rules = rulesAt(at)
    at.settings.portals[merchant] = { ...rules, mfa: { ...rules.mfa, required: { passkey: 'all' } } }
    const callerAt = async (portal: Portal) => {
      const { accessToken } = await signIn(at, 'rule@demo.test', { portal })
      return at.identity.authentication.accessToken(credential(accessToken, { portal }))
    }
    try {
      await at.account('rule@demo.test', { portal: merchant })
      await at.account('rule@demo.test')
      expect((await callerAt(merchant)).withheldByWorkspaces).toBe('all')
      expect((await callerAt('CONSUMER')).withheldByWorkspaces).toBeUndefined()
    } finally {
      at.settings.portals[merchant] = rules
    }
  })

  test('401: without the portal in the configuration, its tokens end, its accounts stay, and mails are dropped', async () => {
    const address = 'gone@demo.test'
    const id = await at.account(address, { portal: merchant })
    const { accessToken } = await signIn(at, address, { portal: merchant })
    const { [merchant]: _, ...portals } = at.settings.portals
    const later = await createIdentity(at.ports, { ...at.settings, portals: portals as IdentitySettings['portals'] })
    for (const portal of [merchant, null]) {
      const using = (async () => later.authentication.accessToken(credential(accessToken, { portal })))()
      expect(await codeOf(using)).toBe('ACCESS.TOKEN_INVALID')
    }
    const [notice] = later.jobs.filter(({ name }) => name === 'identity.notice')
    const sent = at.outbox.list().length
    const about = { portal: merchant, accountId: id, about: 'PASSWORD_CHANGED', clientIp: '', device: '', at: 0 }
    await notice?.work(about, { jobId: '', attempt: 1, signal: new AbortController().signal, drop: () => undefined })
    expect(at.outbox.list()).toHaveLength(sent)
    const kept = at.ports.database.selectFrom('accounts').select('portal').where('bizId', '=', id)
    expect(await kept.execute()).toEqual([{ portal: merchant }])
  })
})

describe('a provider of an additional portal', () => {
  let world: ProviderWorld
  const opened: AccountId[] = []
  const system = { portal: 'SYSTEM' } as const
  const accountsWith = (address: string) =>
    world.at.ports.database.selectFrom('accounts').select(['bizId', 'portal']).where('email', '=', address).execute()

  beforeAll(async () => {
    const changePorts: Parameters<typeof providerWorld>[1] = (ports) => {
      ports.openWorkspace = async (_, { ownerId }) => void opened.push(ownerId)
    }
    world = await providerWorld({ portal: merchant }, changePorts, ({ portals }) => {
      const [own] = rulesOf({ portals }, merchant).providers
      if (own) portals.SYSTEM.providers = [{ ...own, portal: 'SYSTEM' }]
    })
  })
  afterAll(() => world.close())

  test('auth.providerComplete: the same person gets another account at each portal, and a workspace at one', async () => {
    const address = 'both@company.test'
    world.provider.person = personOf(address)
    await world.signIn()
    await world.signIn({ context: system })
    await world.signIn()
    const accounts = await accountsWith(address)
    expect(accounts.map(({ portal }) => portal).sort()).toEqual([merchant, 'SYSTEM'])
    expect(opened).toEqual([accounts.find(({ portal }) => portal === merchant)?.bizId])
  })

  test('auth.providerComplete 404: a sign-in that another portal started', async () => {
    const started = await world.begin()
    for (const portal of others)
      expect(await codeOf(world.complete(started, { portal }))).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('auth.providerComplete: approval and refused domains are those of the portal', async () => {
    Object.assign(rulesAt(world.at), { selfRegistration: 'approval', refusedDomains: ['operators.test'] })
    world.provider.person = personOf('op@operators.test')
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    world.provider.person = personOf('pending@company.test')
    expect(await codeOf(world.signIn())).toBe('AUTH.PENDING_APPROVAL')
  })
})
