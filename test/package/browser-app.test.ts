import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { chromiumPath, launchChromium, openPage } from '../browser/chromium.ts'
import { type Call, send } from '../harness/http.ts'
import { needs } from '../harness/needs.ts'
import type { DevelopmentMail } from '../harness/portico.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { codeIn, outboxOf, signInOnly } from '../harness/sign-in.ts'
import { copyExample, folderIn, runIn, startIn } from './user.ts'

const owner = 'owner@demo.test'

describe('examples/browser-app', needs(chromiumPath, 'Chromium is not installed'), () => {
  let app: string
  let gateway: PorticoProcess
  let browser: Browser
  let context: BrowserContext
  let compiled: unknown

  beforeAll(async () => {
    const folder = await folderIn('production')
    await copyExample('browser-app', folder)
    app = join(folder, 'examples/browser-app')
    const install = [
      'npm',
      'install',
      inject('package').client,
      '--prefer-offline',
      '--no-audit',
      '--no-fund',
      '--silent',
    ]
    expect(await runIn(app, install)).toMatchObject({ code: 0 })
    compiled = await runIn(app, ['npm', 'run', '--silent', 'types'])
    expect(await runIn(app, ['npm', 'run', '--silent', 'build'])).toMatchObject({ code: 0 })
    const config = join(app, 'portico.yaml')
    gateway = await startIn(folder, ['npx', 'portico', 'serve'], { PORTICO_CONFIG: config })
    browser = await launchChromium()
    context = await browser.newContext()
  })
  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
  })

  /** Waits for a mail that is newer than `previous`. */
  async function newCode(template: 'login-code' | 'step-up-code', previous?: DevelopmentMail): Promise<string> {
    let mail = previous
    await expect
      .poll(async () => {
        mail = await outboxOf(gateway)(owner, template)
        return mail.at !== previous?.at
      })
      .toBe(true)
    return codeIn(mail?.text ?? '')
  }

  async function confirm(page: Page, code: string): Promise<void> {
    await page.getByLabel(/^Code that we sent to /).fill(code)
    await page.getByRole('button', { name: 'Confirm' }).click()
  }

  /** Of another workspace of the same person, whose transfers need a step-up. */
  async function openOtherWallet(): Promise<string> {
    const call = (method: string, path: string, call?: Call) => send(gateway.url, method, path, call)
    const { accessToken: token } = await signInOnly({ call, mailTo: outboxOf(gateway) })
    const opened = await call('POST', '/web/v1/consumer/workspaces', { token, body: { workspaceName: 'Other' } })
    const { body } = await call('GET', '/web/v1/consumer/wallets', { token, workspace: opened.body.data.bizId })
    return body.data.find((wallet: { currency: string }) => wallet.currency === 'USD').bizId
  }

  test('compiles', () => expect(compiled).toEqual({ code: 0, stdout: '', stderr: '' }))

  test('signs in, transfers with a step-up, and sees the sign-out of another tab', async () => {
    const target = await openOtherWallet()
    const { page, complaints } = await openPage(context, gateway.url)
    const before = await outboxOf(gateway)(owner, 'login-code')
    await page.getByLabel('Email').fill(owner)
    await page.getByLabel('Password').fill('Portico-demo-2026')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await confirm(page, '000000')
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await confirm(page, await newCode('login-code', before))

    const balance = page.getByRole('row', { name: /^Main USD/ }).getByRole('cell')
    await expect.poll(() => balance.textContent()).toBe('10000.00 USD')
    const other = await openPage(context, gateway.url)
    await other.page.getByRole('heading', { name: 'Wallets' }).waitFor()

    await page.getByLabel('From').selectOption(developmentIds.mainUsd)
    await page.getByLabel('To (wallet id)').fill(target)
    await page.getByLabel('Amount').fill('12.50')
    await page.getByRole('button', { name: 'Transfer' }).click()
    await confirm(page, '000000')
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await confirm(page, await newCode('step-up-code'))
    await expect.poll(() => page.getByRole('status').textContent()).toMatch(/^TRF-\S+: Completed$/)
    await expect.poll(() => balance.textContent()).toBe('9987.50 USD')

    await other.page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await context.cookies()).toEqual([])
    expect([...complaints, ...other.complaints]).toEqual([])
  })
})
