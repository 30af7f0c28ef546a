import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { codeIn } from '../harness/sign-in.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage } from './chromium.ts'

describe('a session that is bound to a key, in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let portico: Portico
  beforeAll(async () => {
    const port = await freePort()
    portico = await startPortico({
      adjust: (settings) => {
        settings.listen.port = port
        settings.publicUrl = `http://127.0.0.1:${port}`
      },
    })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await portico?.stop()
  })

  test('survives a reload, is shared by tabs, and its tokens are useless elsewhere', async () => {
    const context = await browser.newContext()
    await context.exposeFunction('mailedCode', async () =>
      codeIn((await portico.mailTo('owner@demo.test', 'login-code')).text),
    )
    const url = await hostApp(context, portico.settings.publicUrl, await bundleClient())
    const { page, complaints } = await openPage(context, url)
    const { page: tab } = await openPage(context, url)
    const use = (isSigningIn: boolean) => async (at: typeof page) =>
      at.evaluate(async (signsIn) => {
        const client = globalThis.portico.createClient({
          baseUrl: location.origin,
          portal: 'CONSUMER',
          accessCode: 'consumer-dev',
          edgeHeaders: true,
          storage: localStorage,
          dpop: true,
        })
        const code = () => globalThis.mailedCode()
        const account = { email: 'owner@demo.test', password: 'Portico-demo-2026', code }
        const tokenType = signsIn ? (await client.signIn(account)).tokenType : null
        return { tokenType, wallets: (await client.listWallets()).length > 0 }
      }, isSigningIn)
    expect(await use(true)(page)).toEqual({ tokenType: 'DPoP', wallets: true })
    expect(await use(false)(tab)).toEqual({ tokenType: null, wallets: true })
    await page.reload()
    expect(await use(false)(page)).toEqual({ tokenType: null, wallets: true })
    const key = await page.evaluate(async () => {
      const opening = indexedDB.open('portico')
      await new Promise((resolve) => opening.addEventListener('success', resolve))
      const reading = opening.result.transaction('keys').objectStore('keys').get('portico:CONSUMER:dpop')
      await new Promise((resolve) => reading.addEventListener('success', resolve))
      const { privateKey } = reading.result
      const isSecret = await crypto.subtle.exportKey('pkcs8', privateKey).catch(() => 'not exportable')
      return [privateKey.extractable, isSecret]
    })
    expect(key).toEqual([false, 'not exportable'])
    const stolen: { accessToken: string; clientHash: string } = JSON.parse(
      (await page.evaluate(() => localStorage.getItem('portico:CONSUMER:tokens'))) ?? '{}',
    )
    for (const scheme of ['Bearer', 'DPoP']) {
      const headers = { authorization: `${scheme} ${stolen.accessToken}`, 'x-client-hash': stolen.clientHash }
      expect((await portico.call('GET', '/web/v1/consumer/wallets', { headers })).status).toBe(401)
    }
    expect(complaints).toEqual([])
    await context.close()
  })
})
