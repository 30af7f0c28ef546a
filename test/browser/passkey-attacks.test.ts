import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { chromiumPath } from './chromium.ts'
import { type PasskeyPortal, passkeyModes, registerPasskey, startPasskeyPortal, userScript } from './passkey-portal.ts'

const refused = 'AUTH.PASSKEY_INVALID'

describe.each(passkeyModes)(
  'refused passkeys in Chromium, by %s',
  needs(chromiumPath, 'Chromium is not installed'),
  (mode) => {
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

    /** Signs in with the browser's dialog. Returns the code of the refusal. */
    const enter = (page: Page) =>
      page.evaluate(async () => globalThis.user.codeOf(globalThis.user.client.signInWithPasskey()))

    test('a copy of the key, which counts from a lower value, suspends the passkey for everybody', async () => {
      const { page, device } = await portal.open(context)
      await registerPasskey(page)
      expect([await enter(page), await enter(page)]).toEqual(['done', 'done'])
      const [original = expect.fail()] = await device.credentials()
      const thief = await portal.open(context)
      await thief.device.replaceBy({ ...original, signCount: 0 })
      expect(await enter(thief.page)).toBe(refused)
      expect(await enter(page)).toBe(refused)
      const suspended = await page.evaluate(async () => {
        await globalThis.user.signIn({ mfaMethod: 'EMAIL' })
        return (await globalThis.user.client.listPasskeys()).map(({ suspendedAt }) => typeof suspendedAt)
      })
      expect(suspended).toEqual(['string'])
    })

    test('a deleted passkey is refused, and the browser forgets it', async () => {
      const { page, device } = await portal.open(context)
      const id = await registerPasskey(page)
      const [credential = expect.fail()] = await device.credentials()
      const signals = await page.evaluate(async (passkeyBizId) => {
        const seen: unknown[] = []
        const signal = Reflect.get(PublicKeyCredential, 'signalUnknownCredential').bind(PublicKeyCredential)
        Reflect.set(
          PublicKeyCredential,
          'signalUnknownCredential',
          (options: { rpId: string; credentialId: string }) => {
            seen.push(options)
            return signal(options)
          },
        )
        await globalThis.user.client.removePasskey(passkeyBizId)
        return seen
      }, id)
      const credentialId = Buffer.from(credential.credentialId, 'base64').toString('base64url')
      expect(signals).toEqual([{ rpId: 'localhost', credentialId }])
      await device.replaceBy(credential)
      expect(await enter(page)).toBe(refused)
    })

    test('another listed origin uses the passkey, and an unlisted one is refused', async () => {
      const { page, device } = await portal.open(context)
      await registerPasskey(page)
      const [credential = expect.fail()] = await device.credentials()
      const outcomes: string[] = []
      for (const [origin, signCount] of [
        [portal.listed, 100],
        [portal.unlisted, 200],
        [portal.listed, 300],
      ] as const) {
        const other = await portal.open(context, origin)
        await other.device.replaceBy({ ...credential, signCount })
        outcomes.push(await enter(other.page))
        await other.page.close()
      }
      expect(outcomes).toEqual(['done', refused, 'done'])
    })

    test('a page with another host name cannot ask for the passkey', async () => {
      const { page } = await portal.open(context, portal.gateway.replace('localhost', 'evil.localhost'))
      const outcome = await page.evaluate(async () => {
        const { codeOf, sign } = globalThis.user
        const options = { challenge: 'AAAA', timeout: 1_000, rpId: 'localhost', allowCredentials: [] }
        return codeOf(sign({ ...options, userVerification: 'required' }))
      })
      expect(outcome).toContain('SecurityError')
    })

    test('an unverified user: the browser ends the dialog, and the gateway refuses the signature', async () => {
      const { page, device } = await portal.open(context)
      await registerPasskey(page)
      await device.setVerified(false)
      expect(await enter(page)).toBe('CLIENT.PASSKEY_CANCELLED')
      const outcome = await page.evaluate(async () => {
        const { plain, sign, verify } = globalThis.user
        return verify(await sign(await plain.createPasskeyRequest(), 'discouraged'))
      })
      expect(outcome).toBe(refused)
    })

    test('a signature works once, and only for its use', async () => {
      const { page } = await portal.open(context)
      await registerPasskey(page)
      const outcomes = await page.evaluate(async () => {
        const { plain, codeOf, sign, verify } = globalThis.user
        const purpose = { operationId: 'mfa.otpSetup' }
        const ofStepUp = await sign(await plain.createStepUpPasskeyOptions({ body: { purpose } }))
        const ofSignIn = await sign(await plain.createPasskeyRequest())
        const stepUp = (passkey: typeof ofSignIn) =>
          codeOf(plain.stepUp({ body: { mfaMethod: 'PASSKEY', passkey, purpose } }))
        return [await verify(ofStepUp), await stepUp(ofSignIn), await verify(ofSignIn), await verify(ofSignIn)]
      })
      expect(outcomes).toEqual([refused, refused, 'done', refused])
    })

    test('a frame of the portal in a page of another origin is refused', async () => {
      const { page, device } = await portal.open(context)
      await registerPasskey(page)
      const [credential = expect.fail()] = await device.credentials()
      const framing = await portal.open(context, portal.unlisted)
      await framing.device.replaceBy({ ...credential, signCount: 100 })
      await framing.page.setContent(`<iframe src="${portal.gateway}/app" allow="publickey-credentials-get *"></iframe>`)
      const frame = framing.page.frame({ url: `${portal.gateway}/app` }) ?? expect.fail()
      await frame.waitForLoadState()
      await frame.evaluate(userScript(mode, portal.gateway))
      const [outcome, clientData] = await frame.evaluate(async () => {
        const { plain, sign, verify } = globalThis.user
        const signed = await sign(await plain.createPasskeyRequest())
        return [await verify(signed), atob(signed.response.clientDataJSON.replaceAll('-', '+').replaceAll('_', '/'))]
      })
      expect(JSON.parse(clientData ?? '')).toMatchObject({ origin: portal.gateway, crossOrigin: true })
      expect(outcome).toBe(refused)
    })
  },
)
