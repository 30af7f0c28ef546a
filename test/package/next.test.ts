import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'
import { chromiumPath, launchChromium } from '../browser/chromium.ts'
import { needs } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { codeIn, outboxOf } from '../harness/sign-in.ts'
import { userEnvironment } from './environment.ts'
import { copyExample, folderIn, runIn, startIn } from './user.ts'

const maxInstallMs = 180_000

describe('examples/next', needs(chromiumPath, 'Chromium is not installed'), () => {
  let gateway: PorticoProcess
  let server: ChildProcess | undefined
  let url: string
  let browser: Browser

  /** Installs 380 MB. Returns whether the registry offers them in time. */
  function install(app: string): Promise<boolean> {
    const args = ['install', inject('package').client, '--prefer-offline', '--no-audit', '--no-fund', '--silent']
    return promisify(execFile)('npm', args, { cwd: app, env: userEnvironment(), timeout: maxInstallMs }).then(
      () => true,
      () => false,
    )
  }

  beforeAll(async () => {
    const folder = await folderIn('production')
    await copyExample('next', folder)
    const app = join(folder, 'examples/next')
    if (!(await install(app))) return
    const NEXT_TELEMETRY_DISABLED = '1'
    const built = await runIn(app, ['npx', 'next', 'build'], { NEXT_TELEMETRY_DISABLED })
    expect(built.code, built.stdout + built.stderr).toBe(0)
    gateway = await startIn(folder, ['npx', 'portico', 'serve'])
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    server = spawn('node', ['node_modules/next/dist/bin/next', 'start', '-H', '127.0.0.1', '-p', String(port)], {
      cwd: app,
      env: userEnvironment({ PORTICO_URL: gateway.url, NEXT_TELEMETRY_DISABLED }),
      stdio: 'ignore',
    })
    await vi.waitFor(async () => expect((await fetch(`${url}/sign-in`)).status).toBe(200), 60_000)
    browser = await launchChromium()
  }, 600_000)
  afterAll(async () => {
    await browser?.close()
    if (server?.kill()) await once(server, 'exit')
    await gateway?.stop()
  })

  async function signIn(email: string): Promise<BrowserContext> {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(url)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill('Portico-demo-2026')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('Code').fill(codeIn((await outboxOf(gateway)(email, 'login-code')).text))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('heading', { name: email }).waitFor()
    return context
  }

  async function read(context: BrowserContext): Promise<string> {
    return (await context.request.get(url)).text()
  }

  test('two users who are signed in at the same time never see the data of each other', async ({ skip }) => {
    if (!server) return skip('Next.js cannot be installed here in three minutes')
    const emails = ['owner@demo.test', 'member@demo.test']
    const [owner, member] = [await signIn('owner@demo.test'), await signIn('member@demo.test')]
    const cookies = await owner.cookies()
    expect(cookies.map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]).sort()).toEqual([
      ['__Host-device', true, true, 'Strict'],
      ['__Host-session', true, true, 'Strict'],
    ])
    const pages = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => ({ at: at % 2, html: await read(at % 2 === 0 ? owner : member) })),
    )
    for (const { at, html } of pages) expect(emails.map((email) => html.includes(email))).toEqual([at === 0, at === 1])
    expect(pages.map(({ html }) => html).join('')).not.toMatch(/accessToken|refreshToken|eyJ/)
    const stranger = await browser.newContext()
    expect(await read(stranger)).toContain('Password')

    const page = await owner.newPage()
    await page.goto(url)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    const former = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    expect(await (await fetch(url, { headers: { cookie: former } })).text()).not.toContain(emails[0])
    expect(await read(member)).toContain(emails[1])
  })
})
