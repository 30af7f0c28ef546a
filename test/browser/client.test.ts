import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { pair, wallet } from '../client/fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../client/scripted-gateway.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn } from '../harness/sign-in.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage, storageArrived } from './chromium.ts'

declare global {
  var mailedCode: () => Promise<string>
}

describe('the client in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let context: BrowserContext
  let script: string
  beforeAll(async () => {
    script = await bundleClient()
    browser = await launchChromium()
  })
  beforeEach(async () => {
    context = await browser.newContext()
  })
  afterEach(() => context.close())
  afterAll(() => browser?.close())

  describe('with the real gateway', () => {
    let portico: Portico
    beforeAll(async () => {
      portico = await startPortico()
    })
    afterAll(() => portico?.stop())

    test('signs in over the secure channel, transfers money and signs out, under a strict policy', async () => {
      await context.exposeFunction('mailedCode', async () =>
        codeIn((await portico.mailTo('owner@demo.test', 'login-code')).text),
      )
      const { page, complaints } = await openPage(context, await hostApp(context, portico.url, script))
      const sent: string[] = []
      page.on('request', (request) => sent.push(request.postData() ?? ''))
      const seen = await page.evaluate(async (ids) => {
        const client = globalThis.portico.createClient({
          baseUrl: location.origin,
          portal: 'CONSUMER',
          accessCode: 'consumer-dev',
          edgeHeaders: true,
          storage: localStorage,
        })
        await client.signIn({
          email: 'owner@demo.test',
          password: 'Portico-demo-2026',
          code: () => globalThis.mailedCode(),
        })
        const order = await client.createTransfer({
          workspaceId: ids.workspace,
          seal: true,
          body: {
            sourceWalletBizId: ids.mainUsd,
            targetWalletBizId: ids.savingsUsd,
            amount: '1.75',
            currency: 'USD',
          },
        })
        const { accountEmail } = await client.readProfile()
        const stored = localStorage.getItem('portico:CONSUMER:tokens') !== null
        await client.signOut()
        await client.close()
        return { amount: order.amount, accountEmail, stored, left: localStorage.getItem('portico:CONSUMER:tokens') }
      }, developmentIds)
      expect(seen).toEqual({ amount: '1.75', accountEmail: 'owner@demo.test', stored: true, left: null })
      expect(sent.join('')).not.toMatch(/Portico-demo-2026|1\.75/)
      expect(complaints).toEqual([])
    })

    test('uploads a file with progress, and downloads the same bytes, completely and in part', async () => {
      await context.exposeFunction('mailedCode', async () =>
        codeIn((await portico.mailTo('owner@demo.test', 'login-code')).text),
      )
      const { page, complaints } = await openPage(context, await hostApp(context, portico.url, script))
      // On a slow network, the page shows its progress for long enough.
      const network = await context.newCDPSession(page)
      const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 3_000_000 }
      await network.send('Network.emulateNetworkConditions', slow)
      const seen = await page.evaluate(async (workspaceId) => {
        const options = { baseUrl: location.origin, portal: 'CONSUMER', accessCode: 'consumer-dev' } as const
        const client = globalThis.portico.createClient({ ...options, edgeHeaders: true })
        const password = 'Portico-demo-2026'
        await client.signIn({ email: 'owner@demo.test', password, code: () => globalThis.mailedCode() })
        const bytes = new Uint8Array(3_000_000).fill(0x20)
        bytes.set(new TextEncoder().encode('%PDF-1.7\n'))
        const body = new FormData()
        body.set('purpose', 'DOCUMENT')
        body.set('file', new Blob([bytes], { type: 'application/pdf' }), 'contract.pdf')
        const steps: { loaded: number; total: number }[] = []
        const onProgress = (progress: { loaded: number; total: number }) => steps.push(progress)
        const file = await client.uploadFile({ workspaceId, body, onProgress })
        const params = { file_id: file.bizId }
        const whole = new Uint8Array(await (await client.downloadFile({ workspaceId, params })).arrayBuffer())
        const part = await client.downloadFile({ workspaceId, params, headers: { range: 'bytes=0-7' } })
        return {
          fileName: file.fileName,
          isSame: whole.length === bytes.length && whole.every((byte, place) => byte === bytes[place]),
          part: [part.status, await part.text()],
          rises: steps.every(({ loaded }, place) => place === 0 || loaded >= (steps[place - 1]?.loaded ?? 0)),
          isToldMeanwhile: steps.some(({ loaded, total }) => loaded < total),
          isToldToTheEnd: steps.some(({ loaded, total }) => loaded === total && total > bytes.length),
        }
      }, developmentIds.workspace)
      expect(seen).toEqual({
        fileName: 'contract.pdf',
        isSame: true,
        part: [206, '%PDF-1.7'],
        rises: true,
        isToldMeanwhile: true,
        isToldToTheEnd: true,
      })
      expect(complaints).toEqual([])
    })
  })

  describe('with a scripted gateway', () => {
    let gateway: ScriptedGateway
    afterEach(() => gateway?.close())

    const refresh = 'POST /web/v1/consumer/auth/token/refresh'
    const forSecond: Step = (seen, response) => {
      const step = seen.headers.authorization === 'Bearer access-2' ? ok([wallet]) : refuse(401, 'ACCESS.TOKEN_INVALID')
      return step(seen, response)
    }
    const slow: Step = async (seen, response) => {
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      await ok(pair('2'))(seen, response)
    }

    test('two tabs renew a shared sign-in once', async () => {
      gateway = await scriptedGateway({ 'GET /web/v1/consumer/wallets': forSecond, [refresh]: slow })
      const url = await hostApp(context, gateway.baseUrl, script)
      const [first, second] = [await openPage(context, url), await openPage(context, url)]
      const body = { tokens: pair('1') }
      await first.page.evaluate(async ({ tokens }) => {
        const storage = localStorage
        const options = {
          baseUrl: location.origin,
          portal: 'CONSUMER',
          accessCode: 'x',
          storage,
          seal: 'none',
        } as const
        await globalThis.portico.createClient(options).session.adopt(tokens)
      }, body)
      await storageArrived(first.page, second.page)
      const counts = await Promise.all(
        [first, second].map(({ page }) =>
          page.evaluate(async () => {
            const storage = localStorage
            const options = {
              baseUrl: location.origin,
              portal: 'CONSUMER',
              accessCode: 'x',
              storage,
              seal: 'none',
            } as const
            return (await globalThis.portico.createClient(options).listWallets()).length
          }),
        ),
      )
      expect(counts).toEqual([1, 1])
      expect(gateway.to('/token/refresh')).toHaveLength(1)
      expect(new Set(gateway.seen.map(({ headers }) => headers['x-client-hash'])).size).toBe(1)
      expect([first, second].flatMap(({ complaints }) => complaints)).toEqual([])
    })

    test('a frozen tab that holds the renewal lock delays the others for seconds only', async () => {
      const frozenStill = Promise.withResolvers<void>()
      const held: Step = async (seen, response) => {
        await frozenStill.promise
        await ok(pair('2'))(seen, response)
      }
      const responses = [held, ok(pair('2'))]
      gateway = await scriptedGateway({ 'GET /web/v1/consumer/wallets': forSecond, [refresh]: responses })
      const url = await hostApp(context, gateway.baseUrl, script)
      const open = async () => {
        const { page } = await openPage(context, url)
        const client = await page.evaluateHandle(() => {
          const options = { baseUrl: location.origin, portal: 'CONSUMER', accessCode: 'x', seal: 'none' } as const
          return globalThis.portico.createClient({ ...options, storage: localStorage })
        })
        return { page, client }
      }
      const [frozen, awake] = [await open(), await open()]
      await frozen.client.evaluate((client, tokens) => client.session.adopt(tokens), pair('1'))
      await storageArrived(frozen.page, awake.page)
      await frozen.client.evaluate((client) => void client.listWallets().catch(() => undefined))
      await expect.poll(() => gateway.to('/token/refresh').length).toBe(1)
      // Simulates a frozen tab, because a browser does not freeze a visible page.
      const debug = await context.newCDPSession(frozen.page)
      await debug.send('Debugger.enable')
      await debug.send('Debugger.pause')
      expect(await awake.client.evaluate(async (client) => (await client.listWallets()).length)).toBe(1)
      expect(gateway.to('/token/refresh')).toHaveLength(2)
      frozenStill.resolve()
      await debug.send('Debugger.resume')
      expect(await frozen.client.evaluate(async (client) => (await client.listWallets()).length)).toBe(1)
      expect(gateway.to('/token/refresh')).toHaveLength(2)
    })

    test('a redirect is reported as such, and one during a renewal does not end the sign-in', async () => {
      const elsewhere: Step = (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end()
      gateway = await scriptedGateway({ 'GET /web/v1/consumer/wallets': forSecond, [refresh]: elsewhere })
      const { page } = await openPage(context, await hostApp(context, gateway.baseUrl, script))
      const seen = await page.evaluate(async (tokens) => {
        const options = { baseUrl: location.origin, portal: 'CONSUMER', accessCode: 'x', seal: 'none' } as const
        const client = globalThis.portico.createClient(options)
        await client.session.adopt(tokens)
        const { code, status, message } = await client.listWallets().catch((error) => error)
        return { code, status, message, stored: (await client.session.tokens())?.accessToken }
      }, pair('1'))
      const message = 'the redirect has no envelope'
      expect(seen).toEqual({ code: 'CLIENT.INVALID_REPLY', status: 0, message, stored: 'access-1' })
      expect([gateway.to('/token/refresh').length, gateway.to('/elsewhere').length]).toEqual([1, 0])
    })

    test('an upload reports progress; refusals, aborts and lost responses are the same as for other calls', async () => {
      const file = {
        bizId: wallet.bizId,
        fileName: 'big.bin',
        contentType: 'application/octet-stream',
        sizeBytes: 4_000_000,
        sha256: 'x',
        purpose: { code: 'DOCUMENT', value: 1, label: '', description: '' },
        fileStatus: { code: 'AVAILABLE', value: 1, label: '', description: '' },
        createdAt: '2026-01-01T00:00:00.000Z',
      }
      const hangUp: Step = (_, response) => void response.destroy()
      const odd: Step = (_, response) => void response.writeHead(999).end()
      const upload = 'POST /web/v1/consumer/files/upload'
      gateway = await scriptedGateway({ [upload]: [ok(file), refuse(413, 'REQUEST.TOO_LARGE'), hangUp, odd] })
      const { page } = await openPage(context, await hostApp(context, gateway.baseUrl, script))
      const seen = await page.evaluate(async () => {
        const options = { baseUrl: location.origin, portal: 'CONSUMER', accessCode: 'x', seal: 'none' } as const
        const client = globalThis.portico.createClient(options)
        const body = new FormData()
        body.set('purpose', 'DOCUMENT')
        body.set('file', new Blob([new Uint8Array(4_000_000)]), 'big.bin')
        const steps: { loaded: number; total: number }[] = []
        const onProgress = (progress: { loaded: number; total: number }) => steps.push(progress)
        const { fileName } = await client.uploadFile({ body, onProgress })
        const codes: string[] = []
        for (let round = 0; round < 3; round++)
          await client.uploadFile({ body, onProgress }).catch((error) => codes.push(error.code))
        const signal = AbortSignal.abort(new Error('enough'))
        await client.uploadFile({ body, onProgress, signal }).catch((error) => codes.push(error.message))
        return { fileName, codes, first: steps[0], last: steps.findLast(({ loaded, total }) => loaded === total) }
      })
      expect(seen.fileName).toBe('big.bin')
      expect(seen.codes).toEqual(['REQUEST.TOO_LARGE', 'CLIENT.NETWORK', 'CLIENT.NETWORK', 'enough'])
      expect(seen.first?.total).toBeGreaterThan(4_000_000)
      expect(seen.last).toBeDefined()
    })
  })
})
