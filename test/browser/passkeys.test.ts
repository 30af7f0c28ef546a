import type { BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { needs } from '../harness/needs.ts'
import { chromiumPath } from './chromium.ts'
import { email, type PasskeyPortal, passkeyModes, registerPasskey, startPasskeyPortal } from './passkey-portal.ts'

const { mainUsd } = developmentIds

describe.each(passkeyModes)('passkeys in Chromium, by %s', needs(chromiumPath, 'Chromium is not installed'), (mode) => {
  let portal: PasskeyPortal
  let context: BrowserContext
  beforeAll(async () => {
    portal = await startPasskeyPortal(mode)
  })
  beforeEach(async () => {
    context = await portal.newContext()
  })
  afterEach(() => context.close())
  afterAll(() => portal?.stop())

  test('registers, signs in without a name, and asks for no code', async () => {
    const { page, device, complaints } = await portal.open(context)
    const id = await registerPasskey(page)
    const [credential] = await device.credentials()
    expect(credential).toMatchObject({ isResidentCredential: true, rpId: 'localhost' })
    const seen = await page.evaluate(async () => {
      const { client } = globalThis.user
      await client.signOut()
      await client.signInWithPasskey()
      const { accountEmail } = await client.readProfile()
      return { accountEmail, passkeys: await client.listPasskeys(), asks: globalThis.asks }
    })
    expect(seen).toMatchObject({
      accountEmail: email,
      passkeys: [{ passkeyBizId: id, name: 'Laptop', deviceType: 'SINGLE_DEVICE', lastUsedAt: expect.any(String) }],
      asks: [],
    })
    expect(complaints).toEqual([])
  })

  test('suggests the passkey in an input, and signs in when the user selects it', async () => {
    const { page } = await portal.open(context)
    await registerPasskey(page)
    const seen = await page.evaluate(async () => {
      const { client } = globalThis.user
      await client.signOut()
      document.body.innerHTML = '<input autocomplete="username webauthn">'
      const mediations: unknown[] = []
      const get = navigator.credentials.get.bind(navigator.credentials)
      navigator.credentials.get = (options) => {
        mediations.push(options?.mediation, options?.publicKey?.allowCredentials)
        return get(options)
      }
      await client.signInWithPasskey({ autofill: true })
      return [(await client.readProfile()).accountEmail, ...mediations]
    })
    expect(seen).toEqual([email, 'conditional', []])
  })

  test('ends the suggestions when another sign-in begins, or the page leaves', async () => {
    const { page, device } = await portal.open(context)
    await registerPasskey(page)
    await device.setPresent(false)
    const ends = await page.evaluate(async () => {
      const { client, signIn, codeOf } = globalThis.user
      document.body.innerHTML = '<input autocomplete="username webauthn">'
      const first = codeOf(client.signInWithPasskey({ autofill: true }))
      await signIn({ mfaMethod: 'EMAIL' })
      const left = new AbortController()
      const second = codeOf(client.signInWithPasskey({ autofill: true, signal: left.signal }))
      setTimeout(() => left.abort('left'))
      const ended = [await first, await second]
      Object.assign(globalThis, { third: codeOf(client.signInWithPasskey({ autofill: true })) })
      return ended
    })
    expect(ends).toEqual(['CLIENT.PASSKEY_ABORTED', 'left'])
    await device.setPresent(true)
    const last = await page.evaluate(async () => {
      const { client, codeOf } = globalThis.user
      return [await codeOf(client.signInWithPasskey()), await Reflect.get(globalThis, 'third')]
    })
    expect(last).toEqual(['done', 'CLIENT.PASSKEY_ABORTED'])
  })

  test('is the second factor after the password, and a code takes its place if the user is not verified', async () => {
    const { page, device } = await portal.open(context)
    await registerPasskey(page)
    const withPasskey = await page.evaluate(async () => {
      await globalThis.user.signIn()
      return [(await globalThis.user.client.readProfile()).accountEmail, ...globalThis.asks]
    })
    expect(withPasskey).toEqual([email])
    await device.setVerified(false)
    expect(
      await page.evaluate(async () => {
        await globalThis.user.signIn()
        return globalThis.asks
      }),
    ).toEqual(['sign-in'])
  })

  test('confirms exactly the amount and payee of a transfer', async () => {
    const { page } = await portal.open(context)
    await registerPasskey(page)
    const seen = await page.evaluate(async (sourceWalletBizId) => {
      const { client, plain, codeOf, sign } = globalThis.user
      const { bizId: workspaceId } = await client.createWorkspace({ body: { workspaceName: 'Elsewhere' } })
      const wallets = await client.listWallets({ workspaceId })
      const targetWalletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
      const body = { sourceWalletBizId, targetWalletBizId, amount: '5.00', currency: 'USD' }
      const { amount } = await client.createTransfer({ body })
      const purpose = { operationId: 'transfers.create', ...body }
      const confirm = async (signed: object, confirmed: object) => {
        const passkey = await sign(
          await plain.createStepUpPasskeyOptions({ body: { purpose: { ...purpose, ...signed } } }),
        )
        const proof = { mfaMethod: 'PASSKEY', passkey, purpose: { ...purpose, ...confirmed } } as const
        return codeOf(plain.stepUp({ body: proof }))
      }
      const changed = [
        await confirm({}, { amount: '500.00' }),
        await confirm({}, { targetWalletBizId: sourceWalletBizId }),
        await confirm({ amount: '500.00' }, {}),
        await confirm({ amount: '6.00' }, { amount: '6.00' }),
      ]
      return { amount, changed, asks: globalThis.asks }
    }, mainUsd)
    const refused = 'AUTH.PASSKEY_INVALID'
    expect(seen).toEqual({ amount: '5.00', changed: [refused, refused, refused, 'done'], asks: [] })
  })

  test('refuses a transfer of another amount than the passkey has signed', async () => {
    const { page } = await portal.open(context)
    await registerPasskey(page)
    const seen = await page.evaluate(async (sourceWalletBizId) => {
      const { client, plain, codeOf, sign } = globalThis.user
      const { bizId: workspaceId } = await client.createWorkspace({ body: { workspaceName: 'Elsewhere' } })
      const wallets = await client.listWallets({ workspaceId })
      const targetWalletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
      const body = { sourceWalletBizId, targetWalletBizId, amount: '7.00', currency: 'USD' }
      const purpose = { operationId: 'transfers.create', ...body }
      const passkey = await sign(await client.createStepUpPasskeyOptions({ body: { purpose } }))
      await client.stepUp({ body: { mfaMethod: 'PASSKEY', passkey, purpose } })
      const transfer = (changed: object) => codeOf(plain.createTransfer({ body: { ...body, ...changed } }))
      return [
        await transfer({ amount: '7.01' }),
        await transfer({ targetWalletBizId: sourceWalletBizId }),
        await transfer({}),
      ]
    }, mainUsd)
    expect(seen).toEqual(['ACCESS.STEP_UP_REQUIRED', expect.stringMatching(/^(ACCESS|VALIDATION)/), 'done'])
  })
})
