/*
 * Takes the pictures of README.md from a gateway that it starts: `npm run pictures`, with a folder as the optional argument.
 * Needs Chromium.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, execPath, stdout } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { createClient } from '../src/client/index.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = argv[2] ?? join(root, 'docs/pictures')
const url = 'http://127.0.0.1:18480'
const operations = 'http://127.0.0.1:18490'
const password = 'Portico-demo-2026'
const screen = { width: 1280, height: 800 }

async function takePictures(): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'portico-pictures-'))
  const variables = { PORT: '18480', OPS_PORT: '18490', PORTICO_DATA_DIR: data, LOG_LEVEL: 'error' }
  const gateway = spawn(execPath, [join(root, 'bin/portico.js'), 'serve'], {
    env: { PATH: process.env.PATH, ...variables },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise((resolve) => gateway.once('exit', resolve))
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] })
  try {
    await ready()
    await makeOrders()
    mkdirSync(folder, { recursive: true })
    await takePicture(browser, 'portal', 'owner@demo.test', '/transfers', 'Transfers')
    await takePicture(browser, 'console', 'operator@demo.test', '/', 'Requests in the last hour')
  } finally {
    await browser.close()
    gateway.kill('SIGTERM')
    await ended
    rmSync(data, { recursive: true, force: true })
  }
}

function chromiumPath(): string {
  const path = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((each) =>
    existsSync(each),
  )
  if (!path) throw new Error('Chromium is not installed')
  return path
}

async function ready(): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const response = await fetch(`${operations}/health/ready`).catch(() => null)
    if (response?.ok) return
    await pause(100)
  }
  throw new Error('the gateway does not become ready')
}

/** Something to look at. */
async function makeOrders(): Promise<void> {
  const client = createClient({
    baseUrl: url,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    edgeHeaders: true,
    onStepUp: { code: () => codeOf('owner@demo.test') },
  })
  await client.signIn({ email: 'owner@demo.test', password, code: () => codeOf('owner@demo.test') })
  const [membership] = await client.listMyWorkspaces()
  if (!membership) throw new Error('the account has no workspace')
  const workspaceId = membership.workspaceBizId
  const [source, target] = (await client.listWallets({ workspaceId })).filter(({ currency }) => currency === 'USD')
  if (!source || !target) throw new Error('the workspace has no two wallets in USD')
  for (const [amount, clientReference] of [
    ['1250.00', 'invoice 2026-114'],
    ['84.90', 'invoice 2026-115'],
    ['320.00', 'rent of the office'],
  ] as const)
    await client.createTransfer({
      workspaceId,
      body: {
        sourceWalletBizId: source.bizId,
        targetWalletBizId: target.bizId,
        amount,
        currency: 'USD',
        clientReference,
      },
    })
  // Waits for an operator.
  for (const accountNumber of ['DE89370400440532013000', 'DE75512108001245126199'])
    await client.createWithdrawalChannel({
      workspaceId,
      body: {
        channelType: 'BANK',
        currency: 'USD',
        country: 'DE',
        accountHolderName: 'Ada Lovelace',
        accountNumber,
        bankCode: 'COBADEFF',
      },
    })
}

async function takePicture(browser: Browser, app: string, email: string, path: string, text: string): Promise<void> {
  const page = await browser.newPage({ viewport: screen, locale: 'en-US', timezoneId: 'UTC' })
  await page.goto(`${url}/${app}${path}`)
  await signIn(page, email)
  await page.getByText(text).first().waitFor()
  await page.locator('.loading').first().waitFor({ state: 'detached' })
  await page.mouse.move(0, 0)
  await page.screenshot({ path: join(folder, `${app}.png`), animations: 'disabled' })
  stdout.write(`${join(folder, `${app}.png`)}\n`)
}

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill(await codeOf(email))
  await dialog.getByRole('button', { name: 'Confirm' }).click()
  await page.getByRole('navigation').waitFor()
}

interface Mail {
  to: string
  text: string
}

const used = new Set<string>()

/** Each code signs in once. */
async function codeOf(email: string): Promise<string> {
  for (let tries = 0; tries < 300; tries++) {
    const mails: Mail[] = await (await fetch(`${operations}/mail.json`)).json()
    const code = /\b\d{6}\b/.exec(mails.find(({ to }) => to === email)?.text ?? '')?.[0]
    if (code && !used.has(code)) {
      used.add(code)
      return code
    }
    await pause(100)
  }
  throw new Error(`no code for ${email}`)
}

await takePictures()
