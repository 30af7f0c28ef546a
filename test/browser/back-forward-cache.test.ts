import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { TokenPair } from '../../src/client/index.ts'
import { pair, wallet } from '../client/fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../client/scripted-gateway.ts'
import { needs } from '../harness/needs.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage, storageArrived } from './chromium.ts'

declare global {
  /** A global, because it survives in the back/forward cache. */
  var life: { call(): Promise<string>; adopt(tokens: TokenPair): Promise<void>; restored: number; signedOut: number }
}

const forSecond: Step = (seen, response) => {
  const step = seen.headers.authorization === 'Bearer access-2' ? ok([wallet]) : refuse(401, 'ACCESS.TOKEN_INVALID')
  return step(seen, response)
}
const other: Step = (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>other')

describe('a page restored from the back/forward cache', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let gateway: ScriptedGateway
  beforeAll(async () => {
    browser = await launchChromium({ keepsPages: true })
  })
  afterEach(() => gateway?.close())
  afterAll(() => browser?.close())

  test('uses the current tokens and detects a sign-out', async () => {
    gateway = await scriptedGateway({ 'GET /web/v1/consumer/wallets': forSecond, 'GET /other': other })
    const context = await browser.newContext()
    context.setDefaultTimeout(60_000)
    const url = await hostApp(context, gateway.baseUrl, await bundleClient())
    const open = async () => {
      const { page } = await openPage(context, url)
      await page.evaluate(() => {
        const options = { baseUrl: location.origin, portal: 'CONSUMER', accessCode: 'x', seal: 'none' } as const
        const onSignedOut = () => void globalThis.life.signedOut++
        const client = globalThis.portico.createClient({ ...options, storage: localStorage, onSignedOut })
        const call = () =>
          client.listWallets().then(
            () => 'served',
            (error) => error.code,
          )
        const adopt = (tokens: TokenPair) => client.session.adopt(tokens)
        globalThis.life = { call, adopt, restored: 0, signedOut: 0 }
        addEventListener('pageshow', ({ persisted }) => {
          if (persisted) globalThis.life.restored++
        })
      })
      return page
    }
    const [page, tab] = [await open(), await open()]
    const leaveAndComeBack = async (workWhileAway: () => Promise<void>) => {
      await page.goto(`${gateway.baseUrl}/other`)
      await workWhileAway()
      await page.goBack({ waitUntil: 'commit' })
      await storageArrived(tab, page)
      return page.evaluate(async () => {
        const called = await globalThis.life.call()
        const { restored, signedOut } = globalThis.life
        return { called, restored, signedOut }
      })
    }
    await page.evaluate((tokens) => globalThis.life.adopt(tokens), pair('1'))
    const renewed = () => tab.evaluate((tokens) => globalThis.life.adopt(tokens), pair('2'))
    expect(await leaveAndComeBack(renewed)).toEqual({ called: 'served', restored: 1, signedOut: 0 })
    const cleared = () => tab.evaluate(() => localStorage.clear())
    expect(await leaveAndComeBack(cleared)).toEqual({ called: 'ACCESS.TOKEN_INVALID', restored: 2, signedOut: 1 })
    expect(gateway.to('/token/refresh')).toEqual([])
  })
})
