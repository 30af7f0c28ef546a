/*
 * A tour of the running gateway (npm start): a secure channel, a sealed sign-in, the wallets and a transfer. Uses PORT
 * and OPS_PORT, or --url and --operations.
 */
import { parseArgs } from 'node:util'
import { createClient, type HttpExchange, isPorticoError } from '../src/client/index.ts'
import { readVariables } from '../src/config/env.ts'
import { messageOf } from '../src/kernel/index.ts'

const { PORT = '8080', OPS_PORT = '9090' } = readVariables()

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: `http://127.0.0.1:${PORT}` },
    operations: { type: 'string', default: `http://127.0.0.1:${OPS_PORT}` },
    email: { type: 'string', default: 'owner@demo.test' },
    password: { type: 'string', default: 'Portico-demo-2026' },
  },
})

let step = 0
function announce(text: string): void {
  step += 1
  process.stdout.write(`\n${step}. ${text}\n`)
}
function show(name: string, value: unknown): void {
  process.stdout.write(`   ${name.padEnd(12)} ${String(value)}\n`)
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
function onExchange({ method, path, status, sealed, requestId }: HttpExchange): void {
  process.stdout.write(`   > ${method} ${path}${sealed ? ' (sealed)' : ''} → ${status}, request ${requestId}\n`)
}

interface Mail {
  to: string
  text: string
}

async function codeFromOutbox(): Promise<string> {
  const mails: Mail[] = await (await fetch(`${values.operations}/mail.json`)).json()
  const code = /\b\d{6}\b/.exec(mails.find(({ to }) => to === values.email)?.text ?? '')?.[0]
  if (!code) throw new Error(`no code for ${values.email} in the outbox at ${values.operations}/mail`)
  show('code', `${code}, from ${values.operations}/mail`)
  return code
}

async function tour(): Promise<void> {
  const client = createClient({
    baseUrl: values.url,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    edgeHeaders: true,
    onExchange,
  })
  announce('Sign in: public key, secure channel, password, mailed code')
  const session = await client.signIn({ email: values.email, password: values.password, code: codeFromOutbox })
  show('session', session.sessionId)

  announce('Who am I, and where?')
  const profile = await client.readProfile()
  show('account', `${profile.accountName} <${profile.accountEmail}>`)
  const [membership] = await client.listMyWorkspaces()
  if (!membership) throw new Error('the account has no workspace')
  show('workspace', `${membership.workspaceName} (${membership.workspaceRoleName})`)
  const workspaceId = membership.workspaceBizId

  announce('The wallets')
  const wallets = await client.listWallets({ workspaceId })
  const balanceOf = async (wallet: { bizId: string; walletName: string; currency: string }) => {
    const { availableBalance } = await client.readBalance({ params: { wallet_id: wallet.bizId }, workspaceId })
    show(wallet.walletName, `${availableBalance} ${wallet.currency}`)
  }
  for (const wallet of wallets) await balanceOf(wallet)

  announce('A transfer of 12.50 USD')
  const [source, target] = wallets
    .filter(({ currency }) => currency === 'USD')
    .sort((a, b) => Number(b.isDefault) - Number(a.isDefault))
  if (!source || !target) throw new Error('two USD wallets are needed')
  const order = await client.createTransfer({
    workspaceId,
    body: {
      sourceWalletBizId: source.bizId,
      targetWalletBizId: target.bizId,
      amount: '12.50',
      currency: 'USD',
      remark: 'The tour',
    },
  })
  show('order', `${order.orderNo}: ${order.transferStatus.label}`)
  await balanceOf(source)
  await balanceOf(target)

  announce('Sign out')
  await client.signOut()
  await client.close()
  process.stdout.write('\nThe tour is complete.\n')
}

function hintOf(error: unknown): string {
  if (!isPorticoError(error) || error.code.startsWith('CLIENT.'))
    return `Is the gateway running at ${values.url}? npm start`
  const { code, retryAfter, requestId } = error
  const wait = retryAfter === null ? '' : ` (retry after ${retryAfter} s)`
  const limits = code === 'ACCESS.RATE_LIMITED' ? '\nTo raise the limits: PORTICO_RATE_LIMIT_SCALE=100 npm start' : ''
  return `Refused with ${code}${wait}. See ${values.operations}/explain/${requestId} for the stage.${limits}`
}

try {
  await tour()
} catch (error) {
  process.stderr.write(`\nThe tour failed: ${shorten(messageOf(error))}\n${hintOf(error)}\n`)
  process.exitCode = 1
}
