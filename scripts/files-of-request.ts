/*
 * Lists the source files that a transfer and a sign-in execute, measured by V8:
 * `node scripts/files-of-request.ts [--write]`. `--write` updates ARCHITECTURE.md.
 */

import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { argv, stdout } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { bankingDomains } from '../src/banking/index.ts'
import { loadConfiguration } from '../src/config/index.ts'
import { startServer } from '../src/main.ts'
import { createLogger } from '../src/platform/telemetry/index.ts'
import { developmentIds } from '../src/seed/development.ts'

const source = new URL('../src/', import.meta.url).href

export async function filesOfRequests(): Promise<{ signIn: string[]; transfer: string[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'portico-files-'))
  const variables = { PORT: '0', OPS_PORT: '0', PORTICO_DATA_DIR: directory, PORTICO_RATE_LIMIT_SCALE: '100' }
  const settings = loadConfiguration(variables, bankingDomains)
  // Background jobs must not run during a request.
  const quiet = { pace: { pollMs: 3_600_000 } }
  const running = await startServer(bankingDomains, settings, 'gateway', createLogger('silent'), quiet)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  try {
    const call = async (path: string, body?: unknown, token?: string) => {
      const response = await fetch(`http://127.0.0.1:${running.port}/web/v1/consumer${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          'x-portal-access-code': 'consumer-dev',
          'x-request-id': randomUUID(),
          'x-client-hash': 'files-of-request',
          'x-forwarded-proto': 'https',
          'cf-connecting-ip': '203.0.113.7',
          'cf-ray': '8f2a1b3c4d5e6f70-FRA',
          'cf-ipcountry': 'DE',
          'x-locale': 'en',
          'content-type': 'application/json',
          'x-workspace-id': developmentIds.workspace,
          ...(token && { authorization: `Bearer ${token}` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const envelope = await response.json()
      if (response.status !== 200) throw new Error(`${path}: ${JSON.stringify(envelope)}`)
      return envelope.data
    }
    const mailedCode = async (email: string): Promise<string> => {
      for (;;) {
        const response = await fetch(`http://127.0.0.1:${running.operationsPort}/mail.json`)
        const mails: { to: string; text: string }[] = await response.json()
        const code = /\b\d{6}\b/.exec(mails.find(({ to }) => to === email)?.text ?? '')?.[0]
        if (code) return code
        await pause(50)
      }
    }
    const signIn = async (email: string): Promise<string> => {
      const { sessionId } = await call('/auth/login/initiate', { email, password: 'Portico-demo-2026' })
      await call('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
      const proof = { mfaMethod: 'EMAIL', code: await mailedCode(email) }
      return (await call('/auth/login/complete', { sessionId, ...proof })).accessToken
    }
    /** Compares three runs, because background work does not occur in each. */
    const inEachRun = async (work: () => Promise<unknown>): Promise<string[]> => {
      const runs = [await filesRunBy(session, work), await filesRunBy(session, work), await filesRunBy(session, work)]
      return runs.reduce((common, run) => common.filter((file) => run.includes(file)))
    }
    const token = await signIn('owner@demo.test')
    const transfer = { sourceWalletBizId: developmentIds.mainUsd, targetWalletBizId: developmentIds.savingsUsd }
    const makeTransfer = () => call('/transfer/command/create', { ...transfer, amount: '1.00', currency: 'USD' }, token)
    await makeTransfer()
    return {
      signIn: await filesRunBy(session, () => signIn('member@demo.test')),
      transfer: await inEachRun(makeTransfer),
    }
  } finally {
    session.disconnect()
    await running.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { transfer, signIn } = await filesOfRequests()
  const ofIdentity = signIn.filter((file) => file.startsWith('identity/'))
  if (argv[2] === '--write') {
    const file = new URL('../ARCHITECTURE.md', import.meta.url)
    const sections = {
      transfer: `The way from the socket to SQL runs through ${transfer.length} files:\n\n${tableOf(transfer)}`,
      'sign-in': `A sign-in runs through ${ofIdentity.length} files of \`src/identity\`:\n\n${tableOf(ofIdentity)}`,
    }
    const page = Object.entries(sections).reduce(
      (text, [mark, section]) => replaceSection(text, mark, section),
      readFileSync(file, 'utf8'),
    )
    writeFileSync(file, page)
  } else
    for (const [name, files] of Object.entries({ transfer, 'sign-in': signIn }))
      stdout.write(`${name}: ${files.length} files\n${files.map((each) => `  ${each}\n`).join('')}`)
}

/** Paths are relative to src. */
async function filesRunBy(session: Session, work: () => Promise<unknown>): Promise<string[]> {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  return result
    .filter(({ url }) => url.startsWith(source))
    .filter(({ functions }) =>
      functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
    )
    .map(({ url }) => url.slice(source.length))
    .sort()
}

function tableOf(files: readonly string[]): string {
  const folders = Map.groupBy(files, (file) => dirname(file))
  const rows = [...folders].map(([folder, names]) => {
    const list = names.map((name) => basename(name, '.ts')).join(', ')
    return `| \`src/${folder}\` | ${list} |`
  })
  return ['| folder | files |', '| --- | --- |', ...rows].join('\n')
}

function replaceSection(page: string, mark: string, text: string): string {
  const [start, end] = [`<!-- ${mark} -->\n`, `<!-- /${mark} -->`]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`ARCHITECTURE.md has no section "${mark}"`)
  return `${page.slice(0, from + start.length)}${text}\n${page.slice(to)}`
}
